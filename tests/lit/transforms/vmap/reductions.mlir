// RUN: qb-opt %s --qb-vmap=size=4 | filecheck %s

// Reductions and the product of matrices: axes shift by one, and batches broadcast.

// CHECK-LABEL: func.func @sum(
// CHECK: [[R:%.+]] = "qb.sum"(%arg0) {axis = array<i64: 2>} : (tensor<4x2x3xf64>) -> tensor<4x2xf64>
// CHECK: return [[R]]
func.func @sum(%x: tensor<2x3xf64>) -> tensor<2xf64> {
  %0 = "qb.sum"(%x) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @mean(
// CHECK: [[R:%.+]] = "qb.mean"(%arg0) {axis = array<i64: 1, 2>} : (tensor<4x2x3xf64>) -> tensor<4xf64>
// CHECK: return [[R]]
func.func @mean(%x: tensor<2x3xf64>) -> tensor<f64> {
  %0 = "qb.mean"(%x) {axis = array<i64: 0, 1>} : (tensor<2x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @max(
// CHECK: [[R:%.+]] = "qb.max"(%arg0) {axis = array<i64: 1>} : (tensor<4x2x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @max(%x: tensor<2x3xf64>) -> tensor<3xf64> {
  %0 = "qb.max"(%x) {axis = array<i64: 0>} : (tensor<2x3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @min(
// CHECK: [[R:%.+]] = "qb.min"(%arg0) {axis = array<i64: 2>} : (tensor<4x2x3xf64>) -> tensor<4x2xf64>
// CHECK: return [[R]]
func.func @min(%x: tensor<2x3xf64>) -> tensor<2xf64> {
  %0 = "qb.min"(%x) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @cumsum(
// CHECK: [[R:%.+]] = "qb.cumsum"(%arg0) {axis = 2 : i64, reverse = false} : (tensor<4x2x3xf64>) -> tensor<4x2x3xf64>
// CHECK: return [[R]]
func.func @cumsum(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.cumsum"(%x) {axis = 1 : i64, reverse = false} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// CHECK-LABEL: func.func @matmul(
// CHECK: [[R:%.+]] = "qb.matmul"(%arg0, %arg1) : (tensor<4x2x3xf64>, tensor<4x3x4xf64>) -> tensor<4x2x4xf64>
// CHECK: return [[R]]
func.func @matmul(%x: tensor<2x3xf64>, %y: tensor<3x4xf64>) -> tensor<2x4xf64> {
  %0 = "qb.matmul"(%x, %y) : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}

// CHECK-LABEL: func.func @matmul_batched(
// CHECK: [[B:%.+]] = "qb.reshape"(%arg1) : (tensor<4x3x4xf64>) -> tensor<4x1x3x4xf64>
// CHECK: [[R:%.+]] = "qb.matmul"(%arg0, [[B]]) : (tensor<4x5x2x3xf64>, tensor<4x1x3x4xf64>) -> tensor<4x5x2x4xf64>
// CHECK: return [[R]]
func.func @matmul_batched(%x: tensor<5x2x3xf64>, %y: tensor<3x4xf64>) -> tensor<5x2x4xf64> {
  %0 = "qb.matmul"(%x, %y) : (tensor<5x2x3xf64>, tensor<3x4xf64>) -> tensor<5x2x4xf64>
  return %0 : tensor<5x2x4xf64>
}
