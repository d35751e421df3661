/* Of the driver API, what tensor maps need, for files that do not include its header: aot.c and vendor.c write it into them, from the line below on. */
typedef uint64_t cuuint64_t;
typedef uint32_t cuuint32_t;
typedef struct { cuuint64_t opaque[16]; } CUtensorMap; /* lies at multiples of 64 bytes */
typedef int CUtensorMapDataType;
typedef int CUtensorMapL2promotion;
enum {
    CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
    CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11,
    CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
    CU_TENSOR_MAP_SWIZZLE_128B = 3,
    CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
    CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0
};
