// How Boost.Math is used: in double, with errors as NaN or infinity instead of exceptions.
#pragma once

// Boost.Math itself calls some of its functions without the policy below, which would then compute
// in long double: slow, and of as many bits as the machine's compiler likes.
#if defined(BOOST_MATH_POLICY_HPP)
#error "special_policy.h comes before what else is included of Boost.Math"
#endif
#define BOOST_MATH_PROMOTE_DOUBLE_POLICY false
// Keeps out its sums by SSE2, in another order than everywhere else.
#define BOOST_MATH_SPECIAL_FUNCTIONS_LANCZOS_SSE2

#include <boost/math/policies/policy.hpp>
#include <cmath>
#include <limits>

namespace tierup::kernels::special {

using Quiet = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::underflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>,
    boost::math::policies::rounding_error<boost::math::policies::ignore_error>,
    boost::math::policies::promote_double<false>>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace tierup::kernels::special
