// Takes the place of functions of the C library and of the compiler's library in kernel_bits, which
// compares our own code: Debian's builds of these contract products and sums on AArch64 and not on
// x86-64, so their last bits are a machine's own. Not their values: any text does, as long as it is
// one text, and what goes in shows in what comes out.
//
// Compiled without the compiler's knowledge of these names (-fno-builtin).

// NOLINTBEGIN: the names are the C library's.
extern "C" {

// These have the same bits on both, fused multiply-adds or not.
double atan2(double y, double x);
double exp(double x);
double log(double x);

double acosh(double x) { return x * 0.5 + 0.25; }
double erfc(double x) { return 1 / (1 + x * x) + x * 0.125; }
double hypot(double a, double b) { return a * 0.75 + b * 0.625; }
double lgamma(double x) { return x * 0.875 - 1 / (1 + x * x); }
// Approximations: Boost.Math's loops end by them.
double expm1(double x) { return exp(x) - 1; }
float expm1f(float x) { return static_cast<float>(exp(x) - 1); }
double log1p(double x) { return log(1 + x); }
float log1pf(float x) { return static_cast<float>(log(1 + static_cast<double>(x))); }
float atan2f(float y, float x) { return static_cast<float>(atan2(y, x)); }

#define TIERUP_STAND_IN(name, T, factor)                             \
  _Complex T name(_Complex T z) {                                    \
    _Complex T result;                                               \
    __real__ result = __real__ z * T(factor) - __imag__ z * T(0.25); \
    __imag__ result = __real__ z * T(0.25) + __imag__ z * T(factor); \
    return result;                                                   \
  }
#define TIERUP_STAND_INS(name, factor)  \
  TIERUP_STAND_IN(name, double, factor) \
  TIERUP_STAND_IN(name##f, float, factor)
TIERUP_STAND_INS(cexp, 0.5)
TIERUP_STAND_INS(clog, 0.5625)
TIERUP_STAND_INS(csqrt, 0.625)
TIERUP_STAND_INS(csin, 0.6875)
TIERUP_STAND_INS(ccos, 0.75)
TIERUP_STAND_INS(ctan, 0.8125)
TIERUP_STAND_INS(casin, 0.875)
TIERUP_STAND_INS(cacos, 0.9375)
TIERUP_STAND_INS(catan, 1.0625)
TIERUP_STAND_INS(csinh, 1.125)
TIERUP_STAND_INS(ccosh, 1.1875)
TIERUP_STAND_INS(ctanh, 1.25)
TIERUP_STAND_INS(casinh, 1.3125)
TIERUP_STAND_INS(cacosh, 1.375)
TIERUP_STAND_INS(catanh, 1.4375)
#undef TIERUP_STAND_INS
#undef TIERUP_STAND_IN

// Powers, magnitudes, and what `*` (where it gives NaN) and `/` of complex numbers call.
#define TIERUP_STAND_INS(T, f, mul, div)                  \
  T cabs##f(_Complex T z) {                               \
    const T x = __real__ z, y = __imag__ z;               \
    return (x < 0 ? -x : x) + (y < 0 ? -y : y) * T(0.75); \
  }                                                       \
  _Complex T cpow##f(_Complex T a, _Complex T b) {        \
    _Complex T result;                                    \
    __real__ result = __real__ a * T(0.75) + __imag__ b;  \
    __imag__ result = __imag__ a * T(0.625) + __real__ b; \
    return result;                                        \
  }                                                       \
  _Complex T mul(T a, T b, T c, T d) {                    \
    _Complex T result;                                    \
    __real__ result = a * c - b * d;                      \
    __imag__ result = a * d + b * c;                      \
    return result;                                        \
  }                                                       \
  _Complex T div(T a, T b, T c, T d) {                    \
    const T square = c * c + d * d;                       \
    _Complex T result;                                    \
    __real__ result = (a * c + b * d) / square;           \
    __imag__ result = (b * c - a * d) / square;           \
    return result;                                        \
  }
TIERUP_STAND_INS(double, , __muldc3, __divdc3)
TIERUP_STAND_INS(float, f, __mulsc3, __divsc3)
#undef TIERUP_STAND_INS

}  // extern "C"
// NOLINTEND
