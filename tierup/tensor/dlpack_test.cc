// DLPack: sharing, lifetimes, and descriptions that make no sense.
#include "tierup/tensor/dlpack.h"

#include <gtest/gtest.h>

#include <limits>

#include "tierup/base/error.h"

namespace tierup::dlpack {
namespace {

// A producer's tensor, that counts how often it was released.
struct Produced {
  ManagedTensorVersioned managed{};
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int released = 0;

  Produced() {
    managed.version = {1, 0};
    managed.context = this;
    managed.deleter = [](ManagedTensorVersioned* self) {
      ++static_cast<Produced*>(self->context)->released;
    };
    managed.tensor = {data, {1, 0}, 2, {2, 32, 1}, shape, strides, 0};
  }
  ErrorCode failure() {
    try {
      import_tensor(&managed);
    } catch (const Error& error) {
      EXPECT_EQ(released, 0);
      return error.code();
    }
    return ErrorCode::kInternal;
  }
};

TEST(DLPack, exports_memory_and_geometry_and_keeps_them_alive) {
  const int64_t sizes[] = {2, 3};
  const int64_t turned[] = {3, 2};
  const int64_t strides[] = {1, 3};
  Tensor tensor = Tensor::empty(sizes, ScalarType::kFloat);
  tensor.data<float>()[5] = 9;
  tensor = tensor.as_view(turned, strides, 0);
  ManagedTensorVersioned* managed = export_tensor(tensor);
  const Ref<Storage> storage = tensor.storage();
  tensor = Tensor();
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->tensor.ndim, 2);
  EXPECT_EQ(managed->tensor.shape[0], 3);
  EXPECT_EQ(managed->tensor.strides[1], 3);
  EXPECT_EQ(managed->tensor.dtype.code, 2);
  EXPECT_EQ(static_cast<float*>(managed->tensor.data)[5], 9);
  EXPECT_EQ(storage->use_count(), 2u);
  managed->deleter(managed);
  EXPECT_EQ(storage->use_count(), 1u);
}

TEST(DLPack, imports_without_copying_and_releases_once) {
  Produced produced;
  {
    Tensor view;
    {
      const Tensor tensor = import_tensor(&produced.managed);
      EXPECT_EQ(tensor.describe(), "Float[2, 3]");
      EXPECT_EQ(tensor.raw(), produced.data);
      view = tensor.detach();
    }
    EXPECT_EQ(produced.released, 0);
    view.data<float>()[0] = 7;
  }
  EXPECT_EQ(produced.data[0], 7);
  EXPECT_EQ(produced.released, 1);
}

TEST(DLPack, round_trips_every_dtype_it_has) {
  for (const ScalarType type :
       {ScalarType::kByte, ScalarType::kBool, ScalarType::kBFloat16, ScalarType::kHalf,
        ScalarType::kComplexDouble, ScalarType::kUInt64, ScalarType::kFloat8E5M2}) {
    const int64_t sizes[] = {2};
    const Tensor tensor = Tensor::empty(sizes, type);
    EXPECT_EQ(import_tensor(export_tensor(tensor)).dtype(), type);
    EXPECT_EQ(import_unversioned(export_unversioned(tensor)).raw(), tensor.raw());
  }
  EXPECT_THROW(export_tensor(Tensor::empty({}, ScalarType::kQInt8)), Error);
}

TEST(DLPack, round_trips_scalars_and_empty_tensors) {
  const int64_t none[] = {0, 3};
  EXPECT_EQ(import_tensor(export_tensor(Tensor::empty(none, ScalarType::kFloat))).describe(),
            "Float[0, 3]");
  EXPECT_EQ(*import_tensor(export_tensor(Tensor::scalar(Scalar(2.5)))).data<double>(), 2.5);
}

TEST(DLPack, takes_missing_strides_as_row_major_and_byte_offsets) {
  Produced produced;
  produced.managed.tensor.strides = nullptr;
  produced.managed.tensor.ndim = 1;
  produced.managed.tensor.byte_offset = 8;
  EXPECT_EQ(import_tensor(&produced.managed).data<float>()[1], 3);
}

TEST(DLPack, copies_read_only_and_misaligned_memory) {
  Produced frozen;
  frozen.managed.flags = kReadOnly;
  frozen.strides[0] = 1;
  frozen.strides[1] = 2;
  const Tensor copy = import_tensor(&frozen.managed);
  EXPECT_EQ(frozen.released, 1);
  EXPECT_EQ(copy.data<float>()[1], 2);
  EXPECT_TRUE(copy.is_contiguous());
  Produced shifted;
  shifted.shape[0] = 1;
  shifted.managed.tensor.byte_offset = 1;
  EXPECT_TRUE(import_tensor(&shifted.managed).storage()->owns_memory());
  EXPECT_EQ(shifted.released, 1);
}

TEST(DLPack, leaves_what_it_refuses_to_the_caller) {
  const auto code = [](auto change) {
    Produced produced;
    change(produced);
    return produced.failure();
  };
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(code([](Produced& p) { p.managed.version.major = 2; }), ErrorCode::kUnsupported);
  EXPECT_EQ(code([](Produced& p) { p.managed.tensor.device.type = 2; }), ErrorCode::kUnsupported);
  EXPECT_EQ(code([](Produced& p) { p.managed.tensor.dtype.lanes = 4; }), ErrorCode::kUnsupported);
  EXPECT_EQ(code([](Produced& p) { p.managed.tensor.dtype.code = 3; }), ErrorCode::kUnsupported);
  EXPECT_EQ(code([](Produced& p) { p.strides[0] = -3; }), ErrorCode::kUnsupported);
  EXPECT_EQ(code([](Produced& p) { p.managed.tensor.ndim = -1; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](Produced& p) { p.managed.tensor.shape = nullptr; }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](Produced& p) { p.managed.tensor.data = nullptr; }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](Produced& p) { p.shape[0] = -2; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([&](Produced& p) { p.shape[0] = huge; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([&](Produced& p) { p.strides[0] = huge; }), ErrorCode::kInvalidArgument);
}

TEST(DLPack, exports_lazily_conjugated_tensors_of_no_elements) {
  const Tensor lazy = Tensor::empty(IntVector{0, 3}, ScalarType::kComplexFloat);
  lazy.impl()->conjugate = true;
  EXPECT_EQ(import_tensor(export_tensor(lazy)).describe(), "ComplexFloat[0, 3]");
}

TEST(DLPack, refuses_to_export_what_would_be_misread) {
  const Tensor weight = Tensor::scalar(Scalar(1.0));
  weight.set_requires_grad(true);
  EXPECT_THROW(export_tensor(weight), Error);
  const Tensor lazy = Tensor::scalar(Scalar(complex128{1, 2}));
  lazy.impl()->conjugate = true;
  EXPECT_THROW(export_tensor(lazy), Error);
  EXPECT_THROW(export_tensor(Tensor()), Error);
}

}  // namespace
}  // namespace tierup::dlpack
