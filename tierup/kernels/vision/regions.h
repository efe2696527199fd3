// Operators on boxes and regions of interest, as torchvision defines them.
//
// Boxes are [x1, y1, x2, y2]; regions are [batch index, x1, y1, x2, y2] in the coordinates of the
// image, scaled by spatial_scale to those of the feature map [N, C, H, W]. f32 and f64; f16
// computes in f32.
#pragma once

#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// torchvision::nms: indices of the boxes kept, best score first; a box goes if it overlaps a better
// one by more than iou_threshold.
Tensor nms(const Tensor& dets, const Tensor& scores, double iou_threshold);

// torchvision::roi_align: averages bilinear samples in each of pooled_height x pooled_width bins;
// sampling_ratio samples per direction, or as many as the bin has pixels if it is not positive.
Tensor roi_align(const Tensor& input, const Tensor& rois, double spatial_scale,
                 int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio, bool aligned);
// torchvision::roi_pool: the maximum of each bin and its position (-1 of an empty bin).
std::tuple<Tensor, Tensor> roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale,
                                    int64_t pooled_height, int64_t pooled_width);
// torchvision::ps_roi_align, ps_roi_pool: each bin reads its own channel; the second result is that
// mapping.
std::tuple<Tensor, Tensor> ps_roi_align(const Tensor& input, const Tensor& rois,
                                        double spatial_scale, int64_t pooled_height,
                                        int64_t pooled_width, int64_t sampling_ratio);
std::tuple<Tensor, Tensor> ps_roi_pool(const Tensor& input, const Tensor& rois,
                                       double spatial_scale, int64_t pooled_height,
                                       int64_t pooled_width);

// torchvision::box_iou_rotated: boxes [center x, center y, width, height, degrees], to [N, M].
Tensor box_iou_rotated(const Tensor& boxes1, const Tensor& boxes2);

}  // namespace tierup::kernels
