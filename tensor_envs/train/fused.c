/* Functions of the network kernels that fused_source.py writes; there is no library. Matrices are row-major.

   Names: x, w, y are the input, the weights and the output of a layer, y = x w + start, where `start` is the bias. The
   gradients of a loss by them are dx, dw and d. `depth` is the number of columns of x and of rows of w. A stride is the
   distance between the rows of an array. */
typedef unsigned char u8;
#define INLINE static inline __attribute__((always_inline))
#define CALLED static __attribute__((noinline))
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define TILE_VECTORS 4
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define TILE_VECTORS 2
#elif defined(__aarch64__)
#define VECTOR_BYTES 16
#define TILE_VECTORS 4
#else
#define VECTOR_BYTES 16
#define TILE_VECTORS 2
#endif
#define LANES (VECTOR_BYTES / 4)
#define TILE_ROWS 6 /* a tile of TILE_ROWS rows and TILE_VECTORS vectors stays in registers */
#define WIDTH(n) ((n) < LANES ? LANES : (n)) /* allocated columns of a matrix that is read in vectors */
typedef float vec __attribute__((vector_size(VECTOR_BYTES)));
typedef int ivec __attribute__((vector_size(VECTOR_BYTES)));
typedef u8 bytes __attribute__((vector_size(16), aligned(1)));
typedef _Bool flags __attribute__((ext_vector_type(16)));
typedef float unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
#define VECTOR_AT(p) (*(unaligned *)(p))
#define READ(p) (*(const unaligned *)(p))
#define SPLAT(x) ((x) - (vec){}) /* not plus: of -0, a sum with 0 is 0, so it is computed */
#define CHOOSE(mask, a, b) ((vec)(((ivec)(a) & (mask)) | ((ivec)(b) & ~(mask))))

INLINE int smaller(int a, int b) { return a < b ? a : b; }

/* e^x to a unit in the last place or two, after Cephes; bounded by the range of normal numbers */
INLINE vec exponential(vec x) {
  x = CHOOSE(x < -87.f, SPLAT(-87.f), x);
  x = CHOOSE(x > 88.f, SPLAT(88.f), x);
  /* e^x = 2^n e^r with n = x / log 2, rounded by the addition of 1.5 * 2^23; log 2 is the sum of two numbers */
  vec n = x * 1.44269504f + 12582912.f - 12582912.f;
  vec r = x - n * .693359375f + n * 2.12194440e-4f;
  vec y = r * 1.9875691500e-4f + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.f;
  return y * (vec)((__builtin_convertvector(n, ivec) + 127) << 23); /* the bits of 2^n */
}

/* log(x) of normal numbers: two steps of Halley's method from the exponent */
INLINE vec logarithm(vec x) {
  vec y = (__builtin_convertvector((ivec)x, vec) * 1.1920929e-7f - 126.95f) * .69314718f;
  for (int k = 0; k < 2; k++) {
    vec e = exponential(y);
    y += 2.f * (x - e) / (x + e);
  }
  return y;
}

/* tanh(x) */
INLINE vec tangent(vec x) { return 1.f - 2.f / (exponential(2.f * x) + 1.f); }

enum { LINEAR, RELU, TANH };

INLINE vec activated(vec x, int kind) {
  return kind == RELU ? CHOOSE(x > 0.f, x, SPLAT(0.f)) : kind == TANH ? tangent(x) : x;
}

/* the derivative, from the function's value */
INLINE vec derivative(vec y, int kind) {
  return kind == RELU ? CHOOSE(y > 0.f, SPLAT(1.f), SPLAT(0.f)) : kind == TANH ? 1.f - y * y : SPLAT(1.f);
}

/* a vector of n numbers in memory, and 0 in place of further ones */
INLINE vec load_first(const float *p, int n) {
  vec x = {};
  for (int k = 0; k < n; k++) x[k] = p[k];
  return x;
}

/* -1 for each of n bools that is true */
INLINE ivec load_bools(const u8 *p, int n) {
  ivec x = {};
  for (int k = 0; k < n; k++) x[k] = -p[k];
  return x;
}

/* a vector's first n numbers, with `other` in place of further ones */
INLINE vec first_of(vec x, int n, float other) {
  for (int k = n; k < LANES; k++) x[k] = other;
  return x;
}

INLINE void store_first(float *p, vec x, int n) {
  for (int k = 0; k < n; k++) p[k] = x[k];
}

/* BODY for each vector of an array of n numbers, the last one padded with 0: `x` is the vector, which is stored again,
   `k_` the index of its first number, and `left_` the count of numbers from there on */
#define EACH(p, n, BODY)                                                                                               \
  for (int k_ = 0; k_ < (n); k_ += LANES) {                                                                            \
    int left_ = (n) - k_;                                                                                              \
    vec x = left_ >= LANES ? READ((p) + k_) : load_first((p) + k_, left_);                                             \
    BODY;                                                                                                              \
    if (left_ >= LANES) VECTOR_AT((p) + k_) = x;                                                                       \
    else store_first((p) + k_, x, left_);                                                                              \
  }
/* within EACH: the vector of another array with the same index */
#define BESIDE(q) (left_ >= LANES ? READ((q) + k_) : load_first((q) + k_, left_))

/* Matrix product. A tile of the result is summed up in registers, so that each number of x and w is loaded once for it.
   Element (i, k) of x is x[i * x_stride + k * x_step]: with the strides exchanged, it is the transpose.

   NAME computes a tile of ROWS rows and VECTORS vectors of y = x w + start, or its ReLU. With `add`, it is y += x w,
   but not in the first `skip` rows and `overlap` columns of the tile, which an earlier tile has added already. A vector
   of y is cut off after `columns` numbers if y has no more. */
#define TILE(NAME, ROWS, VECTORS)                                                                                      \
  INLINE void NAME(int depth, const float *x, long x_stride, long x_step, const float *w, long w_stride,               \
                   const float *start, float *y, long y_stride, int columns, int relu, int add, int skip,              \
                   int overlap) {                                                                                      \
    vec sum[ROWS][VECTORS];                                                                                            \
    for (int r = 0; r < ROWS; r++)                                                                                     \
      for (int j = 0; j < VECTORS; j++)                                                                                \
        sum[r][j] = !start            ? SPLAT(0.f)                                                                     \
                    : columns < LANES ? load_first(start, columns)                                                     \
                                      : READ(start + j * LANES);                                                       \
    /* an outer product for each k: a column of x by a row of w */                                                     \
    for (int k = 0; k < depth; k++) {                                                                                  \
      vec w_row[VECTORS];                                                                                              \
      for (int j = 0; j < VECTORS; j++) w_row[j] = READ(w + k * w_stride + j * LANES);                                 \
      for (int r = 0; r < ROWS; r++) {                                                                                 \
        vec factor = SPLAT(x[r * x_stride + k * x_step]);                                                              \
        for (int j = 0; j < VECTORS; j++) sum[r][j] += factor * w_row[j];                                              \
      }                                                                                                                \
    }                                                                                                                  \
    for (int r = 0; r < ROWS; r++) {                                                                                   \
      if (r < skip) continue;                                                                                          \
      for (int j = 0; j < VECTORS; j++) {                                                                              \
        float *result = y + r * y_stride + j * LANES;                                                                  \
        if (relu) sum[r][j] = activated(sum[r][j], RELU);                                                              \
        if (columns < LANES)                                                                                           \
          store_first(result, add ? sum[r][j] + load_first(result, columns) : sum[r][j], columns);                     \
        else if (!add) VECTOR_AT(result) = sum[r][j];                                                                  \
        else if (!overlap) VECTOR_AT(result) += sum[r][j];                                                             \
        else for (int k = overlap; k < LANES; k++) result[k] += sum[r][j][k];                                          \
      }                                                                                                                \
    }                                                                                                                  \
  }
TILE(tile, TILE_ROWS, TILE_VECTORS)
TILE(tile_half, TILE_ROWS, TILE_VECTORS / 2)
TILE(tile_vector, TILE_ROWS, 1)
TILE(row, 1, TILE_VECTORS)
TILE(row_half, 1, TILE_VECTORS / 2)
TILE(row_vector, 1, 1)

/* All rows of the columns from c on: in tiles, the last of which overlaps the one before where the number of rows is no
   multiple of TILE_ROWS; row by row, if there are fewer rows than a tile has. */
#define ROWS_OF(TALL, FLAT, c, overlap)                                                                                \
  for (int i = 0; rows >= TILE_ROWS && i < rows; i += TILE_ROWS) {                                                     \
    int first = smaller(i, rows - TILE_ROWS);                                                                          \
    TALL(depth, x + first * x_stride, x_stride, x_step, w + (c), w_stride, start ? start + (c) : 0,                    \
         y + first * y_stride + (c), y_stride, columns, relu, add, i - first, overlap);                                \
  }                                                                                                                    \
  for (int i = 0; rows < TILE_ROWS && i < rows; i++)                                                                   \
    FLAT(depth, x + i * x_stride, x_stride, x_step, w + (c), w_stride, start ? start + (c) : 0,                        \
         y + i * y_stride + (c), y_stride, columns, relu, add, 0, overlap);

/* y = x w + start, or its ReLU, or with `add` y += x w. Rows of w have WIDTH(columns) numbers at least. The sum of
   products has one order, whatever the tile, so a row's result does not depend on the rows beside it. */
INLINE void product(int rows, int depth, int columns, const float *x, long x_stride, long x_step, const float *w,
                    long w_stride, const float *start, float *y, long y_stride, int relu, int add) {
  const int wide = TILE_VECTORS * LANES, half = TILE_VECTORS / 2 * LANES;
  int c = 0;
  for (; c + wide <= columns; c += wide) { ROWS_OF(tile, row, c, 0) }
  for (; c + half <= columns; c += half) { ROWS_OF(tile_half, row_half, c, 0) }
  for (; c < columns; c += LANES) {
    /* the last vector ends with the last column, and so may overlap the one before */
    int start_column = columns < LANES ? 0 : smaller(c, columns - LANES);
    ROWS_OF(tile_vector, row_vector, start_column, c - start_column)
  }
}

/* a matrix with fewer columns than a vector has, with zeros beside them; else itself */
INLINE const float *padded(const float *w, int depth, int columns, float *memory) {
  if (columns >= LANES) return w;
  for (int k = 0; k < depth; k++) VECTOR_AT(memory + k * LANES) = load_first(w + k * columns, columns);
  return memory;
}

/* VECTORS vectors of y = x w + start, or its ReLU, for a row x of small integers, most of which are 0: a sum of those
   rows of w whose factor is not 0, in the order of `product`. The `count` indices are those of factors that are not 0;
   in a `binary` row all of them are 1. */
#define SPARSE(NAME, VECTORS)                                                                                          \
  INLINE void NAME(int count, const int *indices, const u8 *x, int binary, const float *w, long w_stride,              \
                   const float *start, float *y, int columns, int relu) {                                              \
    vec sum[VECTORS];                                                                                                  \
    for (int j = 0; j < VECTORS; j++)                                                                                  \
      sum[j] = columns < LANES ? load_first(start, columns) : READ(start + j * LANES);                                 \
    _Pragma("clang loop unroll(disable)") /* each loop's end is a branch that cannot be predicted */                   \
    for (int k = 0; k < count; k++) {                                                                                  \
      const float *w_row = w + indices[k] * w_stride;                                                                  \
      for (int j = 0; j < VECTORS; j++)                                                                                \
        if (binary) sum[j] += READ(w_row + j * LANES);                                                                 \
        else sum[j] += SPLAT((float)x[indices[k]]) * READ(w_row + j * LANES);                                          \
    }                                                                                                                  \
    for (int j = 0; j < VECTORS; j++) {                                                                                \
      if (relu) sum[j] = activated(sum[j], RELU);                                                                      \
      if (columns < LANES) store_first(y, sum[j], columns);                                                            \
      else VECTOR_AT(y + j * LANES) = sum[j];                                                                          \
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

/* the indices of a row's numbers that are not 0, and their count */
INLINE int nonzero(int depth, const u8 *x, int *indices) {
  int count = 0;
  for (int first = 0; first < depth; first += 64) {
    /* a bit for each of 64 numbers, found 16 at a time */
    int size = smaller(64, depth - first), k = 0;
    unsigned long long bits = 0;
    for (; k + 16 <= size; k += 16) bits |= nonzero_bits(x + first + k) << k;
    /* the rest: the last 16 numbers, without those that were found before; a short row is read one by one */
    if (k < size && depth >= 16) bits |= nonzero_bits(x + first + size - 16) >> (k + 16 - size) << k;
    else for (; k < size; k++) bits |= (unsigned long long)(x[first + k] != 0) << k;
    for (; bits; bits &= bits - 1) indices[count++] = first + __builtin_ctzll(bits); /* lowest bit first */
  }
  return count;
}

/* `product` for rows of small integers, most of which are 0. `indices` has `depth` numbers. */
INLINE void sparse_product(int rows, int depth, int columns, const u8 *x, int binary, const float *w, long w_stride,
                           const float *start, float *y, long y_stride, int relu, int *indices) {
  for (int i = 0; i < rows; i++, x += depth, y += y_stride) {
    int count = nonzero(depth, x, indices), c = 0;
    for (; c + 8 * LANES <= columns; c += 8 * LANES)
      sparse(count, indices, x, binary, w + c, w_stride, start + c, y + c, columns, relu);
    for (; c + 4 * LANES <= columns; c += 4 * LANES)
      sparse_half(count, indices, x, binary, w + c, w_stride, start + c, y + c, columns, relu);
    for (; c < columns; c += LANES) {
      int first = columns < LANES ? 0 : smaller(c, columns - LANES);
      sparse_vector(count, indices, x, binary, w + first, w_stride, start + first, y + first, columns, relu);
    }
  }
}

/* the sum of a vector's numbers, by four partial sums */
INLINE float total(vec x) {
  float sum[4] = {};
  for (int k = 0; k < LANES; k++) sum[k % 4] += x[k];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* the highest of a vector's numbers */
INLINE float highest(vec x) {
  float top[4];
  for (int k = 0; k < 4; k++) top[k] = x[k];
  for (int k = 4; k < LANES; k++) top[k % 4] = x[k] > top[k % 4] ? x[k] : top[k % 4];
  for (int k = 1; k < 4; k++) top[0] = top[k] > top[0] ? top[k] : top[0];
  return top[0];
}

/* y = x w + start for one column */
INLINE void dot(int rows, int depth, const float *x, long x_stride, const float *w, float start, float *y) {
  for (int i = 0; i < rows; i++, x += x_stride) {
    vec sum = {};
    for (int k = 0; k < depth; k += LANES) {
      int left = depth - k;
      sum += left >= LANES ? READ(x + k) * READ(w + k) : load_first(x + k, left) * load_first(w + k, left);
    }
    y[i] = start + total(sum);
  }
}

/* y = the activation of y */
INLINE void activate(int rows, int columns, float *y, long y_stride, int kind) {
  if (kind == LINEAR) return;
  for (int i = 0; i < rows; i++) EACH(y + i * y_stride, columns, x = activated(x, kind))
}

/* d *= the derivative of the activation whose values are y */
INLINE void backward(int rows, int columns, float *d, long d_stride, const float *y, long y_stride, int kind) {
  for (int i = 0; i < rows; i++) EACH(d + i * d_stride, columns, x *= derivative(BESIDE(y + i * y_stride), kind))
}

/* y += the sum of the rows of d */
INLINE void add_rows(int rows, int columns, const float *d, long d_stride, float *y) {
  EACH(y, columns, for (int i = 0; i < rows; i++) x += BESIDE(d + i * d_stride))
}

/* to += from */
INLINE void add(int count, const float *from, float *to) { EACH(to, count, x += BESIDE(from)) }

INLINE void add_scaled(int count, const float *from, float scale, float *to) {
  EACH(to, count, x += BESIDE(from) * scale)
}

INLINE void clear(long count, float *to) {
  for (long k = 0; k < count; k++) to[k] = 0;
}

#define ILLEGAL -1e9f /* logit of an illegal action */
#define LOWEST -3e38f /* below any logit */

/* log softmax of the legal logits of rows; `sums` has WIDTH(rows) numbers */
INLINE void log_softmax(int rows, int columns, float *y, const u8 *mask, float *sums) {
  for (int i = 0; i < rows; i++) {
    const u8 *legal = mask + i * columns;
    vec top = SPLAT(LOWEST);
    EACH(y + i * columns, columns,
         if (mask)
           x = CHOOSE(left_ >= LANES ? load_bools(legal + k_, LANES) : load_bools(legal + k_, left_), x,
                      SPLAT(ILLEGAL));
         vec here = first_of(x, left_, LOWEST); top = CHOOSE(here > top, here, top))
    sums[i] = highest(top);
  }
  /* the highest logit becomes 0, so that no exponential overflows */
  for (int i = 0; i < rows; i++) {
    float most = sums[i];
    vec sum = {};
    EACH(y + i * columns, columns, x -= most; sum += first_of(exponential(x), left_, 0))
    sums[i] = total(sum);
  }
  /* the logarithms of all rows in vectors; 1 pads the last one */
  for (int i = rows; i < WIDTH(rows); i++) sums[i] = 1;
  for (int i = 0; i < rows; i += LANES) VECTOR_AT(sums + i) = logarithm(READ(sums + i));
  for (int i = 0; i < rows; i++) EACH(y + i * columns, columns, x -= sums[i])
}

/* the gradient of the logits, given that of their log softmax `logs` */
INLINE void log_softmax_backward(int rows, int columns, const float *logs, const float *gradient, const u8 *mask,
                                 float *d, long d_stride) {
  for (int i = 0; i < rows; i++, logs += columns, gradient += columns, mask += mask ? columns : 0, d += d_stride) {
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
INLINE void scatter(int first, int count, int height, int width, int channels, const float *patches, long stride,
                    float *x) {
  for (int p = first; p < first + count; p++, patches += stride)
    for (int tap = 0; tap < 9; tap++) {
      int i = p / width + tap / 3 - 1, j = p % width + tap % 3 - 1;
      int inside = i >= 0 && i < height && j >= 0 && j < width;
      if (inside) add(channels, patches + tap * channels, x + (i * width + j) * channels);
    }
}

/* adds a 1x1 convolution of x, plus a bias: plane k of cell c is y[k * cells + c] */
INLINE void add_planes(int cells, int inputs, int outputs, const float *x, const float *w, const float *start,
                       float *y) {
  float of_cells[cells * outputs];
  product(cells, inputs, outputs, x, inputs, 1, w, WIDTH(outputs), start, of_cells, outputs, 0, 0);
  for (int k = 0; k < outputs; k++)
    for (int c = 0; c < cells; c++) y[k * cells + c] += of_cells[c * outputs + k];
}

/* adds the gradients of weights, bias and x, given that of y */
INLINE void add_planes_backward(int cells, int inputs, int outputs, const float *x, const float *dy,
                                const float *transposed, float *dw, float *db, float *dx) {
  float d[cells * WIDTH(outputs)];
  for (int c = 0; c < cells; c++)
    for (int k = 0; k < outputs; k++) d[c * WIDTH(outputs) + k] = dy[k * cells + c];
  product(inputs, cells, outputs, x, 1, inputs, d, WIDTH(outputs), 0, dw, outputs, 0, 1);
  add_rows(cells, outputs, d, WIDTH(outputs), db);
  product(cells, outputs, inputs, d, WIDTH(outputs), 1, transposed, WIDTH(inputs), 0, dx, inputs, 0, 1);
}

#define PATCH_CELLS 48 /* cells of a board whose neighbourhoods are gathered together */

/* y = the 3x3 convolution of x, plus a bias: a product of gathered neighbourhoods and weights [9 * inputs, outputs] */
INLINE void convolution(int height, int width, int inputs, int outputs, const float *x, const float *w,
                        const float *start, float *y) {
  float patches[PATCH_CELLS * 9 * inputs];
  for (int first = 0; first < height * width; first += PATCH_CELLS) {
    int count = smaller(PATCH_CELLS, height * width - first);
    gather(first, count, height, width, inputs, x, patches);
    product(count, 9 * inputs, outputs, patches, 9 * inputs, 1, w, WIDTH(outputs), start, y + first * outputs, outputs,
            0, 0);
  }
}

/* adds the gradients of weights and bias and, if dx is not 0, that of x. Rows of d have WIDTH(outputs) numbers. */
INLINE void convolution_backward(int height, int width, int inputs, int outputs, const float *x, const float *d,
                                 const float *transposed, float *dw, float *db, float *dx) {
  float patches[PATCH_CELLS * 9 * WIDTH(inputs)];
  for (int first = 0; first < height * width; first += PATCH_CELLS) {
    int count = smaller(PATCH_CELLS, height * width - first);
    const float *here = d + first * WIDTH(outputs);
    gather(first, count, height, width, inputs, x, patches);
    product(9 * inputs, count, outputs, patches, 1, 9 * inputs, here, WIDTH(outputs), 0, dw, outputs, 0, 1);
    add_rows(count, outputs, here, WIDTH(outputs), db);
    if (!dx) continue;
    product(count, outputs, 9 * inputs, here, WIDTH(outputs), 1, transposed, WIDTH(9 * inputs), 0, patches, 9 * inputs,
            0, 0);
    scatter(first, count, height, width, inputs, patches, 9 * inputs, dx);
  }
}
