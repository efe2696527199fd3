// For tests of the public API: the error that something ends with, and what it says.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

// What is inside first: the public headers open their names to what follows.
#include "tierup/api/public/public_convert.h"
#include "tierup/archive/zip_builder.h"
#include "tierup/error.h"

namespace tierup::fixture {

// A call without an error is a failure of the test.
inline v1::Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const v1::Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return v1::Error(v1::ErrorCode::kInternal, "", "", {}, "");
}

inline bool says(const v1::Error& error, const std::string& words) {
  return std::string(error.what()).find(words) != std::string::npos;
}

}  // namespace tierup::fixture
