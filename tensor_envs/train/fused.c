/* Parts of the fused network kernels that fused.py writes; no library. Matrices are row-major. */
typedef unsigned char u8;
#define INLINE static inline __attribute__((always_inline))
#define CALLED static __attribute__((noinline))
#if defined(__AVX512F__)
#define VECTOR 64
#define J 4
#elif defined(__AVX__)
#define VECTOR 32
#define J 2
#elif defined(__aarch64__)
#define VECTOR 16
#define J 4
#else
#define VECTOR 16
#define J 2
#endif
#define V (VECTOR / 4)
#define R 6 /* a tile of R rows and J vectors stays in registers */
#define WIDTH(n) ((n) < V ? V : (n)) /* allocated columns of a matrix that is read in vectors */
typedef float v __attribute__((vector_size(VECTOR)));
typedef int vi __attribute__((vector_size(VECTOR)));
typedef u8 bytes __attribute__((vector_size(16), aligned(1)));
typedef _Bool flags __attribute__((ext_vector_type(16)));
typedef float unaligned __attribute__((vector_size(VECTOR), aligned(4), may_alias));
#define AT(p) (*(unaligned *)(p))
#define READ(p) (*(const unaligned *)(p))
#define SPLAT(x) ((x) - (v){}) /* not plus: of -0, a sum with 0 is 0, so it is computed */
#define CHOOSE(mask, a, b) ((v)(((vi)(a) & (mask)) | ((vi)(b) & ~(mask))))

INLINE int smaller(int a, int b) { return a < b ? a : b; }

/* e^x to a unit in the last place or two, after Cephes; bounded by the range of normal numbers */
INLINE v exponential(v x) {
  x = CHOOSE(x < -87.f, SPLAT(-87.f), x);
  x = CHOOSE(x > 88.f, SPLAT(88.f), x);
  v n = x * 1.44269504f + 12582912.f - 12582912.f; /* rounded */
  v r = x - n * .693359375f + n * 2.12194440e-4f, y = r * 1.9875691500e-4f + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.f;
  return y * (v)((__builtin_convertvector(n, vi) + 127) << 23);
}

/* log(x) of normal numbers: two steps of Halley's method from the exponent */
INLINE v logarithm(v x) {
  v y = (__builtin_convertvector((vi)x, v) * 1.1920929e-7f - 126.95f) * .69314718f;
  for (int k = 0; k < 2; k++) {
    v e = exponential(y);
    y += 2.f * (x - e) / (x + e);
  }
  return y;
}

INLINE v tangent(v x) { return 1.f - 2.f / (exponential(2.f * x) + 1.f); }

enum { LINEAR, RELU, TANH };

INLINE v activated(v x, int kind) {
  return kind == RELU ? CHOOSE(x > 0.f, x, SPLAT(0.f)) : kind == TANH ? tangent(x) : x;
}

/* the derivative, from the function's value */
INLINE v derivative(v y, int kind) {
  return kind == RELU ? CHOOSE(y > 0.f, SPLAT(1.f), SPLAT(0.f)) : kind == TANH ? 1.f - y * y : SPLAT(1.f);
}

INLINE v load_first(const float *p, int n) {
  v x = {};
  for (int k = 0; k < n; k++) x[k] = p[k];
  return x;
}

/* -1 for each of n bools that is true */
INLINE vi load_bools(const u8 *p, int n) {
  vi x = {};
  for (int k = 0; k < n; k++) x[k] = -p[k];
  return x;
}

/* a vector's first n numbers, with `other` in place of further ones */
INLINE v first_of(v x, int n, float other) {
  for (int k = n; k < V; k++) x[k] = other;
  return x;
}

INLINE void store_first(float *p, v x, int n) {
  for (int k = 0; k < n; k++) p[k] = x[k];
}

/* for every vector of n numbers, the last one shorter: BODY with `x` of p, to be written back */
#define EACH(p, n, BODY)                                                                                               \
  for (int k_ = 0; k_ < (n); k_ += V) {                                                                                \
    int left_ = (n) - k_;                                                                                              \
    v x = left_ >= V ? READ((p) + k_) : load_first((p) + k_, left_);                                                   \
    BODY;                                                                                                              \
    if (left_ >= V) AT((p) + k_) = x;                                                                                  \
    else store_first((p) + k_, x, left_);                                                                              \
  }
/* the same vector of another array */
#define BESIDE(q) (left_ >= V ? READ((q) + k_) : load_first((q) + k_, left_))

/* the tile of y = x w + start at these rows and columns, or of its ReLU; `add` adds it to y, but not to its first `skip`
   rows and `overlap` columns, which were added before */
#define TILE(NAME, ROWS, VECTORS)                                                                                      \
  INLINE void NAME(int depth, const float *x, long row, long step, const float *w, long width, const float *start,     \
                   float *y, long pitch, int columns, int relu, int add, int skip, int overlap) {                      \
    v sum[ROWS][VECTORS];                                                                                              \
    for (int r = 0; r < ROWS; r++)                                                                                     \
      for (int j = 0; j < VECTORS; j++)                                                                                \
        sum[r][j] = !start ? SPLAT(0.f) : columns < V ? load_first(start, columns) : READ(start + j * V);              \
    for (int k = 0; k < depth; k++) {                                                                                  \
      v column[VECTORS];                                                                                               \
      for (int j = 0; j < VECTORS; j++) column[j] = READ(w + k * width + j * V);                                       \
      for (int r = 0; r < ROWS; r++) {                                                                                 \
        v a = SPLAT(x[r * row + k * step]);                                                                            \
        for (int j = 0; j < VECTORS; j++) sum[r][j] += a * column[j];                                                  \
      }                                                                                                                \
    }                                                                                                                  \
    for (int r = 0; r < ROWS; r++) {                                                                                   \
      if (r < skip) continue;                                                                                          \
      for (int j = 0; j < VECTORS; j++) {                                                                              \
        float *to = y + r * pitch + j * V;                                                                             \
        if (relu) sum[r][j] = activated(sum[r][j], RELU);                                                              \
        if (columns < V) store_first(to, add ? sum[r][j] + load_first(to, columns) : sum[r][j], columns);              \
        else if (!add) AT(to) = sum[r][j];                                                                             \
        else if (!overlap) AT(to) += sum[r][j];                                                                        \
        else for (int k = overlap; k < V; k++) to[k] += sum[r][j][k];                                                  \
      }                                                                                                                \
    }                                                                                                                  \
  }
TILE(tile, R, J)
TILE(tile_half, R, J / 2)
TILE(tile_vector, R, 1)
TILE(row, 1, J)
TILE(row_half, 1, J / 2)
TILE(row_vector, 1, 1)

#define ROWS_OF(TALL, FLAT, c, overlap)                                                                                \
  for (int i = 0; rows >= R && i < rows; i += R) {                                                                     \
    int top = smaller(i, rows - R);                                                                                    \
    TALL(depth, x + top * across, across, step, w + (c), width, start ? start + (c) : 0, y + top * pitch + (c), pitch, \
         columns, relu, add, i - top, overlap);                                                                              \
  }                                                                                                                    \
  for (int i = 0; rows < R && i < rows; i++)                                                                           \
    FLAT(depth, x + i * across, across, step, w + (c), width, start ? start + (c) : 0, y + i * pitch + (c), pitch,     \
         columns, relu, add, 0, overlap);

/* y = x w + start, or its ReLU, or y += x w. x(i, k) is x[i * across + k * step]; rows of w have WIDTH(columns) numbers at least. The
   sum of products has one order, whatever the tile, so a row's result does not depend on the rows beside it. */
INLINE void product(int rows, int depth, int columns, const float *x, long across, long step, const float *w,
                    long width, const float *start, float *y, long pitch, int relu, int add) {
  int c = 0;
  for (; c + J * V <= columns; c += J * V) { ROWS_OF(tile, row, c, 0) }
  for (; c + J / 2 * V <= columns; c += J / 2 * V) { ROWS_OF(tile_half, row_half, c, 0) }
  for (; c < columns; c += V) {
    int at = columns < V ? 0 : smaller(c, columns - V);
    ROWS_OF(tile_vector, row_vector, at, c - at)
  }
}

/* a matrix with fewer columns than a vector has, with zeros beside them; else itself */
INLINE const float *padded(const float *w, int depth, int columns, float *memory) {
  if (columns >= V) return w;
  for (int k = 0; k < depth; k++) AT(memory + k * V) = load_first(w + k * columns, columns);
  return memory;
}

/* y = x w + start, or its ReLU, for a row of small integers, most of which are 0: a sum of few rows of w, in the order
   of `product` */
#define SPARSE(NAME, VECTORS)                                                                                          \
  INLINE void NAME(int count, const int *places, const u8 *x, int binary, const float *w, long width,                  \
                   const float *start, float *y, int columns, int relu) {                                              \
    v sum[VECTORS];                                                                                                    \
    for (int j = 0; j < VECTORS; j++) sum[j] = columns < V ? load_first(start, columns) : READ(start + j * V);         \
    _Pragma("clang loop unroll(disable)") /* each loop's end is a branch that cannot be predicted */                   \
    for (int k = 0; k < count; k++) {                                                                                  \
      const float *from = w + places[k] * width;                                                                       \
      for (int j = 0; j < VECTORS; j++)                                                                                \
        if (binary) sum[j] += READ(from + j * V);                                                                      \
        else sum[j] += SPLAT((float)x[places[k]]) * READ(from + j * V);                                                \
    }                                                                                                                  \
    for (int j = 0; j < VECTORS; j++) {                                                                                \
      if (relu) sum[j] = activated(sum[j], RELU);                                                                      \
      if (columns < V) store_first(y, sum[j], columns);                                                                \
      else AT(y + j * V) = sum[j];                                                                                     \
    }                                                                                                                  \
  }
SPARSE(sparse, 8)
SPARSE(sparse_half, 4)
SPARSE(sparse_vector, 1)

/* a bit for each of 16 numbers that is not 0 */
INLINE unsigned long long nonzero_bits(const u8 *x) {
  union { flags of; unsigned short bits; } result = {__builtin_convertvector(*(const bytes *)x != 0, flags)};
  return result.bits;
}

/* the places of a row's numbers that are not 0 */
INLINE int nonzero(int depth, const u8 *x, int *places) {
  int count = 0;
  for (int top = 0; top < depth; top += 64) {
    int size = smaller(64, depth - top), k = 0;
    unsigned long long bits = 0;
    for (; k + 16 <= size; k += 16) bits |= nonzero_bits(x + top + k) << k;
    if (k < size && depth >= 16) bits |= nonzero_bits(x + top + size - 16) >> (k + 16 - size) << k;
    else for (; k < size; k++) bits |= (unsigned long long)(x[top + k] != 0) << k;
    for (; bits; bits &= bits - 1) places[count++] = top + __builtin_ctzll(bits);
  }
  return count;
}

INLINE void sparse_product(int rows, int depth, int columns, const u8 *x, int binary, const float *w, long width,
                           const float *start, float *y, long pitch, int relu, int *places) {
  for (int i = 0; i < rows; i++, x += depth, y += pitch) {
    int count = nonzero(depth, x, places), c = 0;
    for (; c + 8 * V <= columns; c += 8 * V) sparse(count, places, x, binary, w + c, width, start + c, y + c, columns, relu);
    for (; c + 4 * V <= columns; c += 4 * V)
      sparse_half(count, places, x, binary, w + c, width, start + c, y + c, columns, relu);
    for (; c < columns; c += V) {
      int at = columns < V ? 0 : smaller(c, columns - V);
      sparse_vector(count, places, x, binary, w + at, width, start + at, y + at, columns, relu);
    }
  }
}

/* the sum of a vector's numbers */
INLINE float total(v x) {
  float sum[4] = {};
  for (int k = 0; k < V; k++) sum[k % 4] += x[k];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

INLINE float highest(v x) {
  float top[4];
  for (int k = 0; k < 4; k++) top[k] = x[k];
  for (int k = 4; k < V; k++) top[k % 4] = x[k] > top[k % 4] ? x[k] : top[k % 4];
  for (int k = 1; k < 4; k++) top[0] = top[k] > top[0] ? top[k] : top[0];
  return top[0];
}

/* y = x w + start for one column */
INLINE void dot(int rows, int depth, const float *x, long across, const float *w, float start, float *y) {
  for (int i = 0; i < rows; i++, x += across) {
    v sum = {};
    for (int k = 0; k < depth; k += V)
      sum += depth - k >= V ? READ(x + k) * READ(w + k) : load_first(x + k, depth - k) * load_first(w + k, depth - k);
    y[i] = start + total(sum);
  }
}

INLINE void activate(int rows, int columns, float *y, long pitch, int kind) {
  if (kind == LINEAR) return;
  for (int i = 0; i < rows; i++) EACH(y + i * pitch, columns, x = activated(x, kind))
}

/* d *= the derivative of the activation whose values are y */
INLINE void backward(int rows, int columns, float *d, long pitch, const float *y, long stride, int kind) {
  for (int i = 0; i < rows; i++) EACH(d + i * pitch, columns, x *= derivative(BESIDE(y + i * stride), kind))
}

/* y += the sum of the rows of d */
INLINE void add_rows(int rows, int columns, const float *d, long pitch, float *y) {
  EACH(y, columns, for (int i = 0; i < rows; i++) x += BESIDE(d + i * pitch))
}

INLINE void add(int count, const float *from, float *to) { EACH(to, count, x += BESIDE(from)) }

INLINE void add_scaled(int count, const float *from, float scale, float *to) {
  EACH(to, count, x += BESIDE(from) * scale)
}

INLINE void clear(long count, float *to) {
  for (long k = 0; k < count; k++) to[k] = 0;
}

#define ILLEGAL -1e9f
#define LOWEST -3e38f

/* log softmax of the legal logits of rows; `sums` has WIDTH(rows) numbers */
INLINE void log_softmax(int rows, int columns, float *y, const u8 *mask, float *sums) {
  for (int i = 0; i < rows; i++) {
    const u8 *legal = mask + i * columns;
    v top = SPLAT(LOWEST);
    EACH(y + i * columns, columns,
         if (mask) x = CHOOSE(left_ >= V ? load_bools(legal + k_, V) : load_bools(legal + k_, left_), x, SPLAT(ILLEGAL));
         v here = first_of(x, left_, LOWEST); top = CHOOSE(here > top, here, top))
    sums[i] = highest(top);
  }
  for (int i = 0; i < rows; i++) {
    float most = sums[i];
    v sum = {};
    EACH(y + i * columns, columns, x -= most; sum += first_of(exponential(x), left_, 0))
    sums[i] = total(sum);
  }
  for (int i = rows; i < WIDTH(rows); i++) sums[i] = 1;
  for (int i = 0; i < rows; i += V) AT(sums + i) = logarithm(READ(sums + i));
  for (int i = 0; i < rows; i++) EACH(y + i * columns, columns, x -= sums[i])
}

/* the gradient of the logits, given that of their log softmax `logs` */
INLINE void log_softmax_backward(int rows, int columns, const float *logs, const float *gradient, const u8 *mask,
                                 float *d, long pitch) {
  for (int i = 0; i < rows; i++, logs += columns, gradient += columns, mask += mask ? columns : 0, d += pitch) {
    float sum = 0;
    for (int k = 0; k < columns; k++) sum += gradient[k];
    for (int k = 0; k < columns; k++) d[k] = gradient[k];
    EACH(d, columns, x -= exponential(BESIDE(logs)) * sum)
    if (mask)
      for (int k = 0; k < columns; k++) d[k] = mask[k] ? d[k] : 0;
  }
}

/* the 3x3 neighbourhoods of `count` cells of a board from `first` on, [count, 9 * channels] */
INLINE void gather(int first, int count, int height, int width, int channels, const float *x, float *patches) {
  for (int p = first; p < first + count; p++)
    for (int tap = 0; tap < 9; tap++, patches += channels) {
      int i = p / width + tap / 3 - 1, j = p % width + tap % 3 - 1;
      int inside = i >= 0 && i < height && j >= 0 && j < width;
      const float *from = x + (i * width + j) * channels;
      for (int k = 0; k < channels; k++) patches[k] = inside ? from[k] : 0;
    }
}

/* the transpose of `gather`: adds patches to the cells that they were taken from */
INLINE void scatter(int first, int count, int height, int width, int channels, const float *patches, long pitch,
                    float *x) {
  for (int p = first; p < first + count; p++, patches += pitch)
    for (int tap = 0; tap < 9; tap++) {
      int i = p / width + tap / 3 - 1, j = p % width + tap % 3 - 1;
      if (i >= 0 && i < height && j >= 0 && j < width) add(channels, patches + tap * channels, x + (i * width + j) * channels);
    }
}

#define CELLS 48 /* of a board, whose neighbourhoods are in memory together */

INLINE void convolution(int height, int width, int inputs, int outputs, const float *x, const float *w,
                        const float *start, float *y) {
  float patches[CELLS * 9 * inputs];
  for (int first = 0; first < height * width; first += CELLS) {
    int count = smaller(CELLS, height * width - first);
    gather(first, count, height, width, inputs, x, patches);
    product(count, 9 * inputs, outputs, patches, 9 * inputs, 1, w, WIDTH(outputs), start, y + first * outputs, outputs, 0, 0);
  }
}

/* adds the gradients of weights and bias and, if dx is not 0, that of x. Rows of d have WIDTH(outputs) numbers. */
INLINE void convolution_backward(int height, int width, int inputs, int outputs, const float *x, const float *d,
                                 const float *transposed, float *dw, float *db, float *dx) {
  float patches[CELLS * 9 * WIDTH(inputs)];
  for (int first = 0; first < height * width; first += CELLS) {
    int count = smaller(CELLS, height * width - first);
    const float *here = d + first * WIDTH(outputs);
    gather(first, count, height, width, inputs, x, patches);
    product(9 * inputs, count, outputs, patches, 1, 9 * inputs, here, WIDTH(outputs), 0, dw, outputs, 0, 1);
    add_rows(count, outputs, here, WIDTH(outputs), db);
    if (!dx) continue;
    product(count, outputs, 9 * inputs, here, WIDTH(outputs), 1, transposed, WIDTH(9 * inputs), 0, patches, 9 * inputs, 0, 0);
    scatter(first, count, height, width, inputs, patches, 9 * inputs, dx);
  }
}
