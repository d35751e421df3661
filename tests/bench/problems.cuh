/* Problems written by hand in the form the emitter writes, whose operands lie in memory: what the gemm and the pointwise driver ask of one, in device code alone. kernel_lab.cu checks and times them;
   tests/arch.sh compiles them against the drivers, so that neither changes without the other. */

// y[batch, m, n] = act(sum over j of (1 + 2 j) acc[j][batch, m, n] + bias[n]), where acc[j] adds up over ko, k and the segments x[batch, m, ko, k] w[j, batch, ko, k, n].
// OUTER: k_outer may exceed 1; SUMS share x; the operands of a second segment lie behind those of the first, its k is K1.
template <class T, int A, int B, int SUMS_, int SEGMENTS, bool GELU, bool OUTER>
struct matmul {
  typedef T element;
  static constexpr int SUMS = SUMS_, N_SEGMENTS = SEGMENTS, A_LAYOUT = A, B_LAYOUT = B;
  static constexpr int V = sizeof(T) == 2 ? 8 : 4;
  const T *x, *w, *bias;
  T *y;
  int M, N, K, K1, KO;
  long long x_m, x_k, x_ko, x_batch, x_segment, w_n, w_k, w_ko, w_batch, w_sum, w_segment, y_m, y_batch;
  FX_DEVICE int m() const { return M; }
  FX_DEVICE int n() const { return N; }

  // The tensors: where the element at m or n = 0, k = 0 is, and the steps from there.
  template <int NUMBER>
  struct operand_a {
    static constexpr int LAYOUT = A;
    static FX_DEVICE const T *at(const matmul &p, int, int batch, int ko) { return p.x + (OUTER ? batch * p.x_batch + ko * p.x_ko : 0) + NUMBER * p.x_segment; }
    static FX_DEVICE long long stride_mn(const matmul &p, int) { return A == FX_MN_MAJOR ? 1 : p.x_m; }
    static FX_DEVICE long long stride_k(const matmul &p, int) { return A == FX_K_MAJOR ? 1 : p.x_k; }
    template <class ENGINE, class BASE, class SEGMENT, bool ALIGNED>
    using loader = fx_gemm_copied<ENGINE, BASE, matmul, SEGMENT, operand_a, ALIGNED>;
  };
  template <int NUMBER>
  struct operand_b {
    static constexpr int LAYOUT = B;
    static FX_DEVICE const T *at(const matmul &p, int j, int batch, int ko) {
      return p.w + (OUTER ? batch * p.w_batch + ko * p.w_ko : 0) + NUMBER * p.w_segment + j * p.w_sum;
    }
    static FX_DEVICE long long stride_mn(const matmul &p, int) { return B == FX_MN_MAJOR ? 1 : p.w_n; }
    static FX_DEVICE long long stride_k(const matmul &p, int) { return B == FX_K_MAJOR ? 1 : p.w_k; }
    template <class ENGINE, class BASE, class SEGMENT, bool ALIGNED>
    using loader = fx_gemm_copied<ENGINE, BASE, matmul, SEGMENT, operand_b, ALIGNED>;
  };

  template <int NUMBER>
  struct segment {
    static constexpr int SUMS = SUMS_;
    typedef operand_a<NUMBER> a;
    template <int J> using b = operand_b<NUMBER>;
    template <class ENGINE, bool ALIGNED>
    using all_b = typename fx_choose<SUMS == 1, fx_gemm_b<ENGINE, ALIGNED, segment>, fx_gemm_all_b<ENGINE, ALIGNED, segment>>::type;
    static FX_DEVICE constexpr int sum(int j) { return j; }
    static FX_DEVICE int k(const matmul &p) { return NUMBER ? p.K1 : p.K; }
    static FX_DEVICE int k_outer(const matmul &p) { return OUTER ? p.KO : 1; }
  };
  template <class MAINLOOP>
  FX_DEVICE void accumulate(MAINLOOP &mainloop) const {
    mainloop.template add<segment<0>>(*this);
    if constexpr (SEGMENTS == 2) {
      mainloop.next_segment();
      mainloop.template add<segment<1>>(*this);
    }
  }
  template <class ENGINE, bool ALIGNED>
  FX_DEVICE void finish(const fx_tile &at) const {
    fx_gemm_epilogue<ENGINE, ALIGNED, SUMS>(*this, at);
  }

  template <int V>
  struct columns {
    float bias[V];
  };
  template <int V> using frag = fx_nothing;
  template <int V, bool ALIGNED>
  FX_DEVICE void fetch_columns(columns<V> &c, int, int n, int n_valid) const {
    fx_load<V, ALIGNED>(c.bias, bias + n, n_valid);
  }
  template <int V, bool ALIGNED>
  FX_DEVICE void store(const float (&acc)[SUMS][V], const columns<V> &c, const frag<V> &, int batch, int m, int n, int n_valid) const {
    float out[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float t = acc[0][v] + c.bias[v];
#pragma unroll
      for (int j = 1; j < SUMS; ++j) t += (float)(1 + 2 * j) * acc[j][v];
      out[v] = GELU ? fx_gelu(t) : t;
    }
    fx_store<V, ALIGNED>(y + batch * y_batch + m * y_m + n, out, n_valid);
  }
};
// One sum of one segment.
template <class T, int A, int B, bool GELU, bool OUTER>
using plain = matmul<T, A, B, 1, 1, GELU, OUTER>;


// z = max(x * y + z0, 0) over rows x cols.
template <class T, class INDEX>
struct multiply_add {
  typedef INDEX index;
  const T *x, *y, *z0;
  T *z;
  long long n_rows, n_cols, pitch;
  FX_DEVICE long long rows() const { return n_rows; }
  FX_DEVICE long long cols() const { return n_cols; }
  template <int V>
  FX_DEVICE int skew(index row) const {
    return fx_skew<V>(z + row * (index)pitch);
  }
  template <int V>
  struct frag {
    float x[V], y[V], z[V];
  };
  template <int V, bool ALIGNED>
  FX_DEVICE void fetch(frag<V> &f, index row, index col, int n_valid) const {
    const index i = row * (index)pitch + col;
    fx_load<V, ALIGNED>(f.x, x + i, n_valid);
    fx_load<V, ALIGNED>(f.y, y + i, n_valid);
    fx_load<V, ALIGNED>(f.z, z0 + i, n_valid);
  }
  template <int V, bool ALIGNED>
  FX_DEVICE void store(const frag<V> &f, index row, index col, int n_valid) const {
    float out[V];
#pragma unroll
    for (int v = 0; v < V; ++v) out[v] = fx_max(f.x[v] * f.y[v] + f.z[v], 0.0f);
    fx_store<V, ALIGNED>(z + row * (index)pitch + col, out, n_valid);
  }
};
