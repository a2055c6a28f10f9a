// Error function and hyperbolic tangent from tables of polynomials, for sets that look up 16 values at once.
#pragma once

#include "pypto/device/simd/vector.inl.h"

#if defined(__AVX512F__)

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Row k holds the coefficients of t^k, one for each of 16 pieces of [0, limit]; t is the distance from the middle of a
// piece, a piece being 1 wide. The first pieces give f(x) / x - 1, so that small results keep their digits, the others
// f(x).
alignas(64) constexpr float kErfTable[6][16] = {
    {0.128379166F, 0.280257553F, 0.526999772F, 0.718255699F, 0.84877336F, 0.927189291F, 0.96866703F, 0.987982213F,
     0.99590081F, 0.998758733F, 0.99966681F, 0.999920785F, 0.99998337F, 0.999996901F, 0.999999464F, 0.99999994F},
    {3.4472226e-08F, 0.268435985F, 0.2212964F, 0.160397336F, 0.102213658F, 0.0572677106F, 0.0282097831F, 0.0122174034F,
     0.00465204287F, 0.00155741523F, 0.000458406284F, 0.000118625459F, 2.69934371e-05F, 5.39836446e-06F,
     9.44152191e-07F, 1.49853534e-07F},
    {-0.0242114831F, -0.0172786191F, -0.028488731F, -0.0309742261F, -0.0263179168F, -0.0184321236F, -0.0108951554F,
     -0.00550523261F, -0.00239600963F, -0.000901986088F, -0.000294981786F, -8.36176041e-05F, -2.11787446e-05F,
     -4.43886938e-06F, -4.0113045e-07F, -3.66352793e-07F},
    {6.59368197e-07F, -0.00501827197F, -0.00230299658F, 0.000545736053F, 0.0023243071F, 0.00272598281F, 0.00220004236F,
     0.00139152573F, 0.000723251374F, 0.000315045239F, 0.000116791402F, 3.71395436e-05F, 1.01090727e-05F,
     2.41672456e-06F, 5.80343112e-07F, 3.97336528e-08F},
    {0.000469084305F, 0.000527634693F, 0.00075323187F, 0.000610070885F, 0.00026594408F, -3.98844786e-05F,
     -0.000189758764F, -0.000194161155F, -0.000133403737F, -7.29701351e-05F, -3.174218e-05F, -1.26500991e-05F,
     -2.46231525e-06F, -1.17739319e-06F, -1.66311838e-06F, 6.78262552e-07F},
    {-7.42733846e-06F, 8.30858116e-05F, 5.11241888e-06F, -5.6538418e-05F, -7.17226285e-05F, -4.69234037e-05F,
     -1.3226716e-05F, 8.23220307e-06F, 1.16354067e-05F, 1.05880854e-05F, 5.80055212e-06F, 2.39327755e-06F,
     1.0370785e-06F, 2.21714714e-07F, -2.12283737e-07F, 1.68552205e-07F},
};
alignas(64) constexpr float kTanhTable[7][16] = {
    {7.12381099e-10F, -0.0995480791F, 0.822540581F, 0.941025496F, 0.98121655F, 0.99410069F, 0.998155415F, 0.99942404F,
     0.999820232F, 0.999943912F, 0.999982476F, 0.999994516F, 0.999998271F, 0.999999464F, 0.999999821F, 0.99999994F},
    {-1.03387805e-07F, -0.175387457F, 0.188335046F, 0.0666576475F, 0.0216701981F, 0.00685021607F, 0.00214624708F,
     0.000670566689F, 0.000209326899F, 6.53265452e-05F, 2.03852724e-05F, 6.36112691e-06F, 1.98515659e-06F,
     6.19689558e-07F, 1.90407704e-07F, 7.58017862e-08F},
    {-0.113025755F, -0.0459975265F, -0.0902085826F, -0.0365255289F, -0.0123822894F, -0.00396569725F, -0.00124698016F,
     -0.000389808556F, -0.000121436628F, -3.82310682e-05F, -1.12361768e-05F, -3.01146815e-06F, -3.82560557e-07F,
     -2.13195889e-07F, 2.97814552e-07F, 2.23242324e-07F},
    {-3.35875957e-05F, 0.0316312462F, 0.0219239146F, 0.0124835921F, 0.00462521333F, 0.00152109808F, 0.000482440868F,
     0.000151307075F, 4.72887696e-05F, 1.47633136e-05F, 4.60792035e-06F, 1.43777402e-06F, 4.46356665e-07F,
     1.36916398e-07F, 7.48511084e-08F, -1.52175517e-07F},
    {0.0155080156F, -0.00221893657F, -0.000294764555F, -0.00271841488F, -0.00123934634F, -0.000430190004F,
     -0.000143411497F, -4.75116904e-05F, -1.72363689e-05F, -2.75528919e-06F, -6.41364522e-06F, -5.95812298e-06F,
     -6.31535568e-06F, -1.21959476e-06F, -3.28796955e-06F, -2.09122709e-06F},
    {-0.000460785581F, -0.00320751197F, -0.00188403251F, 0.000225323252F, 0.000242987502F, 9.68132154e-05F,
     3.24101238e-05F, 1.03322045e-05F, 3.24540474e-06F, 1.01475644e-06F, 3.15603017e-07F, 9.87586475e-08F,
     3.6837779e-08F, 1.73088619e-08F, -8.23631154e-08F, 4.47911276e-07F},
    {-0.00159845129F, 0.000978873344F, 0.000660817313F, 0.000100187433F, -3.81019127e-05F, -2.18251662e-05F,
     3.0084243e-06F, 6.14776536e-06F, 7.31994487e-06F, -3.72107411e-06F, 1.15300354e-05F, 1.26396917e-05F,
     1.41279761e-05F, 2.69043699e-06F, 7.47053127e-06F, 4.80857443e-06F},
};
constexpr float kErfScale = 3.9414758682250977F;  // pieces per 1
constexpr float kTanhScale = 1.7172949314117432F;
constexpr float kErfLimit = 3.93F;  // where the function rounds to 1
constexpr float kTanhLimit = 9.02F;

// f(x) of an odd function; `near`: pieces from 0 on that give f(x) / x - 1. NaN stays.
template <int kTerms>
PYPTO_SIMD_INLINE VecF OddByTable(VecF x, const float (&table)[kTerms][16], float scale, float limit, float near) {
  constexpr float kMagic = 12582912.0F;  // 1.5 × 2^23: adding it rounds to an integer, which the low bits hold
  const VecF magnitude = reinterpret_cast<VecF>(
      _mm512_maskz_min_ps(0xffff, reinterpret_cast<__m512>(Splat(limit)), reinterpret_cast<__m512>(Abs(x))));
  const VecF shifted = magnitude * scale + kMagic;
  const VecF piece = shifted - kMagic;
  const VecF t = magnitude * scale - piece;
  const __m512i index = reinterpret_cast<__m512i>(shifted);
  const auto coefficients = [&](int term) __attribute__((always_inline)) {
    return reinterpret_cast<VecF>(_mm512_maskz_permutexvar_ps(0xffff, index, _mm512_load_ps(table[term])));
  };
  VecF p = coefficients(kTerms - 1);
#pragma GCC unroll 8
  for (int term = kTerms - 2; term >= 0; --term) p = p * t + coefficients(term);
  const __mmask16 close =
      _mm512_cmp_ps_mask(reinterpret_cast<__m512>(piece), reinterpret_cast<__m512>(Splat(near)), _CMP_LT_OQ);
  const __m512 m = reinterpret_cast<__m512>(magnitude);
  return CopySign(reinterpret_cast<VecF>(_mm512_mask_fmadd_ps(reinterpret_cast<__m512>(p), close, m, m)), x);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET

#endif
