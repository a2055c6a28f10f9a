"""What type checkers and editors see of the operations: made by tests/python/frontend/catalogue_stub.py."""

from typing import Any

from pypto.frontend.tensor import Tensor

def abs(x: Any) -> Tensor:
    """magnitude; the sign bit is cleared"""

def acos(x: Any) -> Tensor:
    """inverse cosine"""

def acosh(x: Any) -> Tensor:
    """inverse hyperbolic cosine"""

def add(x: Any, o: Any) -> Tensor:
    """x + y, element-wise, with broadcasting"""

def amax(x: Any, dim: int, keepdim: bool = False) -> Tensor:
    """Largest value along one dim."""

def amin(x: Any, dim: int, keepdim: bool = False) -> Tensor:
    """Smallest value along one dim."""

def arange(start: Any = None, end: Any = None, step: Any = 1) -> Tensor:
    """start + i * step below `end`: INT32 when every argument is an int, else FP32; one bound is the end."""

def argmax(x: Any, dim: int = -1, keepdim: bool = False) -> Tensor:
    """Index of the first largest value along a dim, INT32; a NaN counts as the largest."""

def argmin(x: Any, dim: int = -1, keepdim: bool = False) -> Tensor:
    """Index of the first smallest value along a dim, INT32; a NaN counts as the smallest."""

def argsort(x: Any, dim: Any = None, descending: bool = False) -> Tensor:
    """Indices that sort along a dim (the last one by default), INT32; equal elements keep their order."""

def asin(x: Any) -> Tensor:
    """inverse sine"""

def asinh(x: Any) -> Tensor:
    """inverse hyperbolic sine"""

def assemble(src: Any, offsets: Any = None, dst: Any = None, parallel: bool = False) -> None:
    """Writes valid parts into dst: `assemble(src, offsets, dst)` or `assemble([(src, offsets), ...], dst)`."""

def atan(x: Any) -> Tensor:
    """inverse tangent"""

def atan2(y: Any, x: Any) -> Tensor:
    """angle of the point (y, x)"""

def atanh(x: Any) -> Tensor:
    """inverse hyperbolic tangent"""

def atomic_add(src: Any, offsets: Any, dst: Any) -> None:
    """Adds src to the region of dst at offsets. Integers wrap; the sum of BOOL is whether either holds."""

def axpy_(y: Any, x: Any, alpha: float = 1.0) -> Tensor:
    """Y becomes alpha * x + y, computed in FP32; returns y."""

def bitwise_and(a: Any, b: Any) -> Tensor:
    """x & y"""

def bitwise_left_shift(a: Any, b: Any) -> Tensor:
    """x << y; 0 for shifts of all bits"""

def bitwise_not(a: Any) -> Tensor:
    """~x; the logical not of BOOL"""

def bitwise_or(a: Any, b: Any) -> Tensor:
    """x | y"""

def bitwise_right_shift(a: Any, b: Any) -> Tensor:
    """x >> y, arithmetic for signed dtypes"""

def bitwise_xor(a: Any, b: Any) -> Tensor:
    """x ^ y"""

def cast(x: Any, dtype: Any, mode: Any = ..., satmode: Any = ...) -> Tensor:
    """Conversion to another dtype. FP4 results are clamped to the largest value."""

def cbrt(x: Any) -> Tensor:
    """real cube root"""

def ceil(x: Any) -> Tensor:
    """the least integer not below x; integers are unchanged"""

def ceil_div(a: Any, b: Any) -> Tensor:
    """ceil(x / y); 0 for a division by 0"""

def clip(x: Any, min: Any = None, max: Any = None) -> Tensor:
    """min(max(x, lower), upper); bounds are both numbers or both tensors, None for no bound."""

def clone(x: Any) -> Tensor:
    """A copy."""

def concat(tensors: Any, dim: int = 0) -> Tensor:
    """The tensors behind each other along a dim; parts follow at their valid extents."""

def conv(x: Any, w: Any, out_dtype: Any, strides: Any, paddings: Any, dilations: Any, *, groups: int = 1, transposed: bool = False, output_paddings: Any = None, extend_params: Any = None) -> Tensor:
    """A convolution over 1 to 3 dims: x [N, C, ...], w [O, C / groups, ...], accumulated in FP32, rounded once."""

def cos(x: Any) -> Tensor:
    """cosine"""

def cosh(x: Any) -> Tensor:
    """hyperbolic cosine"""

def cumprod(x: Any, dim: int) -> Tensor:
    """Product of all elements up to each one along a dim."""

def cumsum(x: Any, dim: int) -> Tensor:
    """Sum of all elements up to each one along a dim; integers give INT64."""

def deinterleave(x: Any, y: Any = None) -> tuple[Tensor, Tensor]:
    """Elements at even and at odd places of the last dim of x, or of x and y behind each other."""

def dequantize(x: Any, scale: Any, otype: Any, axis: int, zero_points: Any = None) -> Tensor:
    """(x + zero_points) * scale in FP32, as `otype`."""

def div(a: Any, b: Any, precision_type: Any = ...) -> Tensor:
    """x / y, true division; integers give FP32"""

def eq(a: Any, b: Any) -> Tensor:
    """x == y"""

def erf(x: Any) -> Tensor:
    """error function"""

def erfc(x: Any) -> Tensor:
    """1 - erf(x)"""

def exp(x: Any, precision_type: Any = ...) -> Tensor:
    """e to the power x"""

def exp2(x: Any) -> Tensor:
    """2 to the power x; integers give FP32"""

def expand_clone(x: Any, shape: Any, *, valid_shape: Any = None) -> Tensor:
    """Dims of extent 1 repeated to a larger shape of equal rank."""

def expand_exp_dif(a: Any, b: Any) -> Tensor:
    """exp(x - y), with broadcasting"""

def expm1(x: Any) -> Tensor:
    """exp(x) - 1; integers give FP32"""

def fillpad(x: Any, mode: str = 'constant', value: Any = 0) -> Tensor:
    """Cells outside of the valid shape become `value`; the result is valid as a whole."""

def floor(x: Any) -> Tensor:
    """the greatest integer not above x; integers are unchanged"""

def floor_div(a: Any, b: Any) -> Tensor:
    """floor(x / y); integers give 0 for a division by 0"""

def fmod(a: Any, b: Any, precision_type: Any = ...) -> Tensor:
    """the remainder of x / y with the sign of x"""

def full(size: Any, value: Any, dtype: Any, *, valid_shape: Any = None) -> Tensor:
    """A tensor of one value."""

def gather(x: Any, dim: int, index: Any) -> Tensor:
    """Elements of x at indices along a dim, as torch.gather."""

def gathermask(x: Any, pattern_mode: int) -> Tensor:
    """Elements of the last dim: 1, 2 every second from 0 or 1; 3 to 6 every fourth from 0 to 3; 7 all."""

def gcd(a: Any, b: Any) -> Tensor:
    """greatest common divisor"""

def ge(a: Any, b: Any) -> Tensor:
    """x >= y"""

def greater(a: Any, b: Any) -> Tensor:
    """The same as `gt`."""

def gt(a: Any, b: Any) -> Tensor:
    """x > y"""

def hypot(a: Any, b: Any) -> Tensor:
    """sqrt(x * x + y * y)"""

def index_add(x: Any, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor:
    """X with alpha * src added at indices along a dim; repeated indices accumulate."""

def index_add_(x: Any, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor:
    """The same into x itself; returns x."""

def index_add__ub(x: Any, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor:
    """The same as `index_add_`."""

def index_add_ub(x: Any, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor:
    """The same as `index_add`."""

def index_put_(x: Any, indices: Any, values: Any, accumulate: bool = False) -> None:
    """x[i0, i1, ...] = values (or += with `accumulate`) for index tensors of 1 dim and equal length."""

def index_select(x: Any, dim: int, index: Any) -> Tensor:
    """Slices of x at indices along a dim; an index of 2 dims gives two dims in place of that one."""

def interleave(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """x0 y0 x1 y1 ... along the last dim, as its first and its second half."""

def isfinite(x: Any) -> Tensor:
    """neither infinite nor NaN"""

def isnan(x: Any) -> Tensor:
    """whether x is NaN"""

def le(a: Any, b: Any) -> Tensor:
    """x <= y"""

def log(x: Any, precision_type: Any = ...) -> Tensor:
    """natural logarithm"""

def log10(x: Any, precision_type: Any = ...) -> Tensor:
    """logarithm to base 10"""

def log1p(x: Any) -> Tensor:
    """log(1 + x)"""

def log2(x: Any, precision_type: Any = ...) -> Tensor:
    """logarithm to base 2"""

def logical_and(a: Any, b: Any) -> Tensor:
    """whether neither is 0"""

def logical_not(a: Any) -> Tensor:
    """whether x is 0"""

def lrelu(x: Any, negative_slope: float = 0.01) -> Tensor:
    """X where x >= 0, else negative_slope * x."""

def lt(a: Any, b: Any) -> Tensor:
    """x < y"""

def matmul(a: Any, b: Any, out_dtype: Any, *, a_trans: bool = False, b_trans: bool = False, c_matrix_nz: bool = False, extend_params: Any = None) -> Tensor:
    """a @ b over the last two dims, accumulated in FP32 (INT32 for INT8) and rounded once to `out_dtype`."""

def maximum(a: Any, b: Any) -> Tensor:
    """the larger of x and y; NaN if either is NaN"""

def minimum(a: Any, b: Any) -> Tensor:
    """the smaller of x and y; NaN if either is NaN"""

def mul(a: Any, b: Any) -> Tensor:
    """x * y, element-wise, with broadcasting"""

def ne(a: Any, b: Any) -> Tensor:
    """x != y"""

def neg(x: Any) -> Tensor:
    """-x"""

def normal(shape: Any, key: Any, counter: Any, alg: Any = None, dtype: Any = ...) -> Tensor:
    """Standard normal numbers made of the same words in pairs, by Box and Muller."""

def one_hot(x: Any, num_classes: int) -> Tensor:
    """INT64: 1 at the index that x holds, 0 elsewhere, in a new last dim."""

def ones(*size: Any, dtype: Any = None) -> Tensor:
    """A tensor of ones, FP32 unless said otherwise."""

def pack(x: Any) -> Tensor:
    """The bytes of x in row-major order, UINT8 of one dim."""

def pad(x: Any, pad: Any, mode: str = 'constant', value: Any = 0) -> Tensor:
    """Cells added on the right and at the bottom: `pad` is [0, right] or [0, right, 0, bottom]."""

def permute(x: Any, dims: Any) -> Tensor:
    """The dims in the given order."""

def pow(base: Any, exp: Any, precision_type: Any = ...) -> Tensor:
    """Base to the power exp; dtypes promote FP32 > FP16 > BF16 > INT32, FP16 with BF16 gives FP32."""

def prelu(x: Any, weight: Any) -> Tensor:
    """X where x >= 0, else weight * x, with one weight per index of dim 1; a tensor of one dim has one."""

def prod(x: Any, dim: int, keepdim: bool = False) -> Tensor:
    """Product along one dim."""

def quant_mx(x: Any, quant_dtype: Any = ..., mode: Any = 'ROUND_DOWN', axis: int = -1, performance_mode: bool = True) -> tuple[Tensor, Tensor]:
    """(q, scale): x / 2^scale in FP8 or FP4 (E2M1), and one E8M0 scale for every 32 elements along the axis."""

def quantize(x: Any, scale: Any, otype: Any, axis: int, zero_points: Any = None) -> Tensor:
    """round(x * scale) as INT8, or round(x * scale + zero_points) as UINT8, clamped."""

def reciprocal(x: Any, precision_type: Any = ...) -> Tensor:
    """1 / x"""

def relu(x: Any) -> Tensor:
    """max(x, 0)"""

def remainder(a: Any, b: Any, precision_type: Any = ...) -> Tensor:
    """x - y * floor(x / y), with the sign of y; integers give 0 for a division by 0"""

def reshape(x: Any, shape: Any, *, valid_shape: Any = None, inplace: bool = False) -> Tensor:
    """The same elements in row-major order in another shape; one entry may be -1."""

def rms_norm(x: Any, gamma: Any = None, epsilon: float = 1e-06) -> Tensor:
    """X * rsqrt(mean(x * x) + epsilon) * gamma along the last dim, computed in FP32."""

def round(x: Any, decimals: int = 0) -> Tensor:
    """Half to even at the given decimal."""

def rsqrt(x: Any, precision_type: Any = ...) -> Tensor:
    """1 / sqrt(x)"""

def scaled_mm(a: Any, b: Any, out_dtype: Any, scale_a: Any, scale_b: Any, *, a_trans: bool = False, b_trans: bool = False, scale_a_trans: bool = False, scale_b_trans: bool = False, c_matrix_nz: bool = False, extend_params: Any = None) -> Tensor:
    """The product of FP8 or FP4 (E2M1) matrices whose elements count times 2^scale of their block of 32 along K."""

def scatter(x: Any, dim: int, index: Any, src: Any, *, reduce: Any = None) -> Tensor:
    """X with src (a tensor or a number) written at indices along a dim, as torch.scatter."""

def scatter_(x: Any, dim: int, index: Any, src: Any, *, reduce: Any = None) -> Tensor:
    """The same into x itself; returns x."""

def scatter_update(x: Any, dim: int, index: Any, src: Any) -> Tensor:
    """Rows of x replaced at index[b, s]; x is [rows, d], or [blocks, block_size, 1, d] with src [b, s, 1, d]."""

def sigmoid(x: Any) -> Tensor:
    """1 / (1 + exp(-x))"""

def sign(x: Any) -> Tensor:
    """-1, 0 or 1; 0 for NaN"""

def signbit(x: Any) -> Tensor:
    """whether x is negative; true for -0.0, false for NaN"""

def sin(x: Any) -> Tensor:
    """sine"""

def sinh(x: Any) -> Tensor:
    """hyperbolic sine"""

def softmax(x: Any, dim: int) -> Tensor:
    """exp(x - max) / sum along a dim, FP32."""

def sqrt(x: Any, precision_type: Any = ...) -> Tensor:
    """square root"""

def sub(a: Any, b: Any) -> Tensor:
    """x - y, element-wise, with broadcasting"""

def sum(x: Any, dim: int, keepdim: bool = False) -> Tensor:
    """Sum along one dim, accumulated in FP32."""

def tan(x: Any) -> Tensor:
    """tangent"""

def tanh(x: Any) -> Tensor:
    """hyperbolic tangent"""

def topk(x: Any, k: int, dim: Any = None, largest: bool = True, algo: Any = ...) -> tuple[Tensor, Tensor]:
    """The k largest or smallest values of the last dim in order, and their indices (INT32); of equals the first."""

def transpose(x: Any, d0: int, d1: int) -> Tensor:
    """Two dims swapped."""

def tril(x: Any, diagonal: Any = 0) -> Tensor:
    """The lower triangle of the last two dims; zeros above the diagonal."""

def triu(x: Any, diagonal: Any = 0) -> Tensor:
    """The upper triangle of the last two dims; zeros below the diagonal."""

def trunc(x: Any) -> Tensor:
    """the integer part of x; integers are unchanged"""

def uniform(shape: Any, key: Any, counter: Any, alg: Any = None, dtype: Any = ...) -> Tensor:
    """Philox4x32-10 numbers in [0, 1): element i is word i % 4 of the block at counter + i // 4."""

def unpack(x: Any, dtype: Any) -> Tensor:
    """The inverse of `pack`: elements of `dtype` from a UINT8 tensor of one dim."""

def unsqueeze(x: Any, dim: int) -> Tensor:
    """A new dim of extent 1 in front of `dim`."""

def var(x: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    """Variance along one dim, several, or all; the divisor is max(0, N - correction)."""

def view(x: Any, shape: Any = None, offsets: Any = None, *, valid_shape: Any = None, dtype: Any = None) -> Tensor:
    """A window of static extent at offsets that may be symbolic; past the end of x it is padding."""

def where(cond: Any, a: Any, b: Any) -> Tensor:
    """A where the condition (BOOL) holds, else b; numbers are FP32 or INT32 elements unless a tensor says otherwise."""

def zeros(*size: Any, dtype: Any = None) -> Tensor:
    """A tensor of zeros, FP32 unless said otherwise."""

class CatalogueMethods:
    """Operations as methods of tensors."""

    __slots__ = ()

    def abs(self) -> Tensor: ...
    def acos(self) -> Tensor: ...
    def acosh(self) -> Tensor: ...
    def add(self, o: Any) -> Tensor: ...
    def amax(self, dim: int, keepdim: bool = False) -> Tensor: ...
    def amin(self, dim: int, keepdim: bool = False) -> Tensor: ...
    def argmax(self, dim: int = -1, keepdim: bool = False) -> Tensor: ...
    def argmin(self, dim: int = -1, keepdim: bool = False) -> Tensor: ...
    def argsort(self, dim: Any = None, descending: bool = False) -> Tensor: ...
    def asin(self) -> Tensor: ...
    def asinh(self) -> Tensor: ...
    def atan(self) -> Tensor: ...
    def atan2(self, x: Any) -> Tensor: ...
    def atanh(self) -> Tensor: ...
    def axpy_(self, x: Any, alpha: float = 1.0) -> Tensor: ...
    def bitwise_and(self, b: Any) -> Tensor: ...
    def bitwise_left_shift(self, b: Any) -> Tensor: ...
    def bitwise_not(self) -> Tensor: ...
    def bitwise_or(self, b: Any) -> Tensor: ...
    def bitwise_right_shift(self, b: Any) -> Tensor: ...
    def bitwise_xor(self, b: Any) -> Tensor: ...
    def cast(self, dtype: Any, mode: Any = ..., satmode: Any = ...) -> Tensor: ...
    def cbrt(self) -> Tensor: ...
    def ceil(self) -> Tensor: ...
    def ceil_div(self, b: Any) -> Tensor: ...
    def clip(self, min: Any = None, max: Any = None) -> Tensor: ...
    def clone(self) -> Tensor: ...
    def conv(self, w: Any, out_dtype: Any, strides: Any, paddings: Any, dilations: Any, *, groups: int = 1, transposed: bool = False, output_paddings: Any = None, extend_params: Any = None) -> Tensor: ...
    def cos(self) -> Tensor: ...
    def cosh(self) -> Tensor: ...
    def cumprod(self, dim: int) -> Tensor: ...
    def cumsum(self, dim: int) -> Tensor: ...
    def deinterleave(self, y: Any = None) -> tuple[Tensor, Tensor]: ...
    def dequantize(self, scale: Any, otype: Any, axis: int, zero_points: Any = None) -> Tensor: ...
    def div(self, b: Any, precision_type: Any = ...) -> Tensor: ...
    def eq(self, b: Any) -> Tensor: ...
    def erf(self) -> Tensor: ...
    def erfc(self) -> Tensor: ...
    def exp(self, precision_type: Any = ...) -> Tensor: ...
    def exp2(self) -> Tensor: ...
    def expand_clone(self, shape: Any, *, valid_shape: Any = None) -> Tensor: ...
    def expand_exp_dif(self, b: Any) -> Tensor: ...
    def expm1(self) -> Tensor: ...
    def fillpad(self, mode: str = 'constant', value: Any = 0) -> Tensor: ...
    def floor(self) -> Tensor: ...
    def floor_div(self, b: Any) -> Tensor: ...
    def fmod(self, b: Any, precision_type: Any = ...) -> Tensor: ...
    def gather(self, dim: int, index: Any) -> Tensor: ...
    def gathermask(self, pattern_mode: int) -> Tensor: ...
    def gcd(self, b: Any) -> Tensor: ...
    def ge(self, b: Any) -> Tensor: ...
    def greater(self, b: Any) -> Tensor: ...
    def gt(self, b: Any) -> Tensor: ...
    def hypot(self, b: Any) -> Tensor: ...
    def index_add(self, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor: ...
    def index_add_(self, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor: ...
    def index_add__ub(self, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor: ...
    def index_add_ub(self, dim: int, index: Any, src: Any, *, alpha: Any = 1) -> Tensor: ...
    def index_put_(self, indices: Any, values: Any, accumulate: bool = False) -> None: ...
    def index_select(self, dim: int, index: Any) -> Tensor: ...
    def interleave(self, y: Any) -> tuple[Tensor, Tensor]: ...
    def isfinite(self) -> Tensor: ...
    def isnan(self) -> Tensor: ...
    def le(self, b: Any) -> Tensor: ...
    def log(self, precision_type: Any = ...) -> Tensor: ...
    def log10(self, precision_type: Any = ...) -> Tensor: ...
    def log1p(self) -> Tensor: ...
    def log2(self, precision_type: Any = ...) -> Tensor: ...
    def logical_and(self, b: Any) -> Tensor: ...
    def logical_not(self) -> Tensor: ...
    def lrelu(self, negative_slope: float = 0.01) -> Tensor: ...
    def lt(self, b: Any) -> Tensor: ...
    def matmul(self, b: Any, out_dtype: Any, *, a_trans: bool = False, b_trans: bool = False, c_matrix_nz: bool = False, extend_params: Any = None) -> Tensor: ...
    def maximum(self, b: Any) -> Tensor: ...
    def minimum(self, b: Any) -> Tensor: ...
    def mul(self, b: Any) -> Tensor: ...
    def ne(self, b: Any) -> Tensor: ...
    def neg(self) -> Tensor: ...
    def one_hot(self, num_classes: int) -> Tensor: ...
    def pack(self) -> Tensor: ...
    def pad(self, pad: Any, mode: str = 'constant', value: Any = 0) -> Tensor: ...
    def permute(self, dims: Any) -> Tensor: ...
    def pow(self, exp: Any, precision_type: Any = ...) -> Tensor: ...
    def prelu(self, weight: Any) -> Tensor: ...
    def prod(self, dim: int, keepdim: bool = False) -> Tensor: ...
    def quant_mx(self, quant_dtype: Any = ..., mode: Any = 'ROUND_DOWN', axis: int = -1, performance_mode: bool = True) -> tuple[Tensor, Tensor]: ...
    def quantize(self, scale: Any, otype: Any, axis: int, zero_points: Any = None) -> Tensor: ...
    def reciprocal(self, precision_type: Any = ...) -> Tensor: ...
    def relu(self) -> Tensor: ...
    def remainder(self, b: Any, precision_type: Any = ...) -> Tensor: ...
    def reshape(self, shape: Any, *, valid_shape: Any = None, inplace: bool = False) -> Tensor: ...
    def rms_norm(self, gamma: Any = None, epsilon: float = 1e-06) -> Tensor: ...
    def round(self, decimals: int = 0) -> Tensor: ...
    def rsqrt(self, precision_type: Any = ...) -> Tensor: ...
    def scaled_mm(self, b: Any, out_dtype: Any, scale_a: Any, scale_b: Any, *, a_trans: bool = False, b_trans: bool = False, scale_a_trans: bool = False, scale_b_trans: bool = False, c_matrix_nz: bool = False, extend_params: Any = None) -> Tensor: ...
    def scatter(self, dim: int, index: Any, src: Any, *, reduce: Any = None) -> Tensor: ...
    def scatter_(self, dim: int, index: Any, src: Any, *, reduce: Any = None) -> Tensor: ...
    def scatter_update(self, dim: int, index: Any, src: Any) -> Tensor: ...
    def sigmoid(self) -> Tensor: ...
    def sign(self) -> Tensor: ...
    def signbit(self) -> Tensor: ...
    def sin(self) -> Tensor: ...
    def sinh(self) -> Tensor: ...
    def softmax(self, dim: int) -> Tensor: ...
    def sqrt(self, precision_type: Any = ...) -> Tensor: ...
    def sub(self, b: Any) -> Tensor: ...
    def sum(self, dim: int, keepdim: bool = False) -> Tensor: ...
    def tan(self) -> Tensor: ...
    def tanh(self) -> Tensor: ...
    def topk(self, k: int, dim: Any = None, largest: bool = True, algo: Any = ...) -> tuple[Tensor, Tensor]: ...
    def transpose(self, d0: int, d1: int) -> Tensor: ...
    def tril(self, diagonal: Any = 0) -> Tensor: ...
    def triu(self, diagonal: Any = 0) -> Tensor: ...
    def trunc(self) -> Tensor: ...
    def unpack(self, dtype: Any) -> Tensor: ...
    def unsqueeze(self, dim: int) -> Tensor: ...
    def var(self, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Tensor: ...
    def view(self, shape: Any = None, offsets: Any = None, *, valid_shape: Any = None, dtype: Any = None) -> Tensor: ...
