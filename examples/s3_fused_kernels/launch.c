/* A plain C program around what fxc emits for s3_11_lora.fx: neither compiler nor runtime of fx, the CUDA driver alone. Input: the cubin, by name. Output: how far its
 * results are from plain loops in double; exit 0 where they are right, 1 where not, 77 where there is no GPU. Build and run:
 *
 *   fxc --emit=host-c -o lora.c s3_11_lora.fx && fxc --emit=host-h -o lora.h s3_11_lora.fx
 *   fxc --emit=cubin -o lora.cubin s3_11_lora.fx      (or: fxc s3_11_lora.fx -o lora.cu && nvcc -arch=sm_90a -cubin lora.cu)
 *   cc -I. launch.c lora.c -lcuda -lm -o launch && ./launch lora.cubin */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lora.h"

enum { M = 7, K = 16, N = 8, R = 5, N_TENSORS = 6 };
static const float alpha = 0.5f;

static float x[M * K], W[K * N], b[N], A[K * R], B[R * N], y[M * N];
static const struct tensor {
    float *host;
    size_t n_bytes;
} tensors[N_TENSORS] = {{x, sizeof x}, {W, sizeof W}, {b, sizeof b}, {A, sizeof A}, {B, sizeof B}, {y, sizeof y}};

/* Says what failed and ends. */
static void need(CUresult r, const char *call) {
    const char *text = NULL;
    if (r == CUDA_SUCCESS) return;
    cuGetErrorString(r, &text);
    fprintf(stderr, "launch: %s: %s\n", call, text ? text : "unknown");
    exit(r == CUDA_ERROR_NO_DEVICE || r == CUDA_ERROR_STUB_LIBRARY ? 77 : 1);
}
#define NEED(call) need(call, #call)

/* Numbers between -1 and 1 that look like none in particular. */
static void fill(float *to, size_t n_bytes, unsigned *state) {
    for (size_t i = 0; i < n_bytes / sizeof *to; i++) {
        *state = *state * 1664525u + 1013904223u;
        to[i] = (float)(*state >> 8) / (float)(1 << 23) - 1;
    }
}

static double lora(int m, int n) {
    double sum = b[n];
    for (int k = 0; k < K; k++) sum += (double)x[m * K + k] * W[k * N + n];
    for (int r = 0; r < R; r++) {
        double low = 0;
        for (int k = 0; k < K; k++) low += (double)x[m * K + k] * A[k * R + r];
        sum += alpha * low * B[r * N + n];
    }
    return sum > 0 ? sum : 0;
}

static void *read_whole(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) return perror(path), exit(1), NULL;
    long n = ftell(f);
    char *text = malloc((size_t)n + 1);
    rewind(f);
    if (!text || fread(text, 1, (size_t)n, f) != (size_t)n) return perror(path), exit(1), NULL;
    fclose(f);
    return text;
}

static void run(const void *cubin) {
    struct lora_relu_module module;
    CUdeviceptr at[N_TENSORS], workspace = 0;
    CUstream stream;
    NEED(lora_relu_load(&module, cubin));
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < N_TENSORS; i++) NEED(cuMemAlloc(&at[i], tensors[i].n_bytes));
    for (int i = 0; i < N_TENSORS; i++) NEED(cuMemcpyHtoD(at[i], tensors[i].host, tensors[i].n_bytes));
    size_t n_bytes = lora_relu_workspace_bytes(&module, M, K, N);
    if (n_bytes) NEED(cuMemAlloc(&workspace, n_bytes));
    NEED(lora_relu_launch(&module, stream, at[0], at[1], at[2], at[3], at[4], alpha, at[5], workspace, M, K, N));
    NEED(cuStreamSynchronize(stream)); /* here, since the result is read next: no launch waits for anything */
    NEED(cuMemcpyDtoH(y, at[5], sizeof y));
    if (workspace) NEED(cuMemFree(workspace));
    for (int i = 0; i < N_TENSORS; i++) NEED(cuMemFree(at[i]));
    NEED(cuStreamDestroy(stream));
    NEED(lora_relu_unload(&module));
}

int main(int argc, char **argv) {
    CUdevice device;
    CUcontext context;
    unsigned state = 1;
    double worst = 0;
    if (argc != 2) return fprintf(stderr, "usage: launch CUBIN\n"), 2;
    void *cubin = read_whole(argv[1]);
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    for (int i = 0; i + 1 < N_TENSORS; i++) fill(tensors[i].host, tensors[i].n_bytes, &state);
    memset(y, 0xff, sizeof y); /* NaN where nothing is written */
    run(cubin);
    for (int i = 0; i < M * N; i++) {
        double error = fabs(y[i] - lora(i / N, i % N));
        if (!(error <= worst)) worst = error;
    }
    free(cubin);
    printf("lora_relu %dx%dx%d rank %d: worst error %.3g, allowed 1e-5\n", M, N, K, R, worst);
    return worst <= 1e-5 ? 0 : 1;
}
