// RUN: qb-opt %s --qb-jvp | filecheck %s

// Forward mode of reductions and of the product of matrices, which is linear in each operand.

// CHECK-LABEL: func.func @sum(
// CHECK: [[R:%.+]] = "qb.sum"(%arg0) {axis = array<i64: 1>}
// CHECK: [[T:%.+]] = "qb.sum"(%arg1) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
// CHECK: return [[R]], [[T]]
func.func @sum(%x: tensor<2x3xf64>) -> tensor<2xf64> {
  %0 = "qb.sum"(%x) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @mean(
// CHECK: [[R:%.+]] = "qb.mean"(%arg0) {axis = array<i64: 0, 1>}
// CHECK: [[T:%.+]] = "qb.mean"(%arg1) {axis = array<i64: 0, 1>} : (tensor<2x3xf64>) -> tensor<f64>
// CHECK: return [[R]], [[T]]
func.func @mean(%x: tensor<2x3xf64>) -> tensor<f64> {
  %0 = "qb.mean"(%x) {axis = array<i64: 0, 1>} : (tensor<2x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @cumsum(
// CHECK: [[R:%.+]] = "qb.cumsum"(%arg0) {axis = 1 : i64, reverse = false}
// CHECK: [[T:%.+]] = "qb.cumsum"(%arg1) {axis = 1 : i64, reverse = false} : (tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: return [[R]], [[T]]
func.func @cumsum(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.cumsum"(%x) {axis = 1 : i64, reverse = false} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// The tangents of the elements that attain it, averaged.
// CHECK-LABEL: func.func @max(
// CHECK: [[R:%.+]] = "qb.max"(%arg0) {axis = array<i64: 0>}
// CHECK: [[W:%.+]] = "qb.broadcast"([[R]]) : (tensor<3xf64>) -> tensor<2x3xf64>
// CHECK: [[MISS:%.+]] = "qb.compare"(%arg0, [[W]]) {kind = "less"}
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<2x3xf64>}
// CHECK: [[P:%.+]] = "qb.where"([[MISS]], [[Z]], %arg1)
// CHECK: [[S:%.+]] = "qb.sum"([[P]]) {axis = array<i64: 0>} : (tensor<2x3xf64>) -> tensor<3xf64>
// CHECK: [[M:%.+]] = "qb.cast"([[MISS]])
// CHECK: [[N:%.+]] = "qb.sum"([[M]]) {axis = array<i64: 0>} : (tensor<2x3xf64>) -> tensor<3xf64>
// CHECK: [[C0:%.+]] = "qb.constant"() {value = dense<2.000000e+00> : tensor<f64>}
// CHECK: [[TIES:%.+]] = "qb.sub"([[C0]], [[N]])
// CHECK: [[U:%.+]] = "qb.compare"([[R]], [[R]]) {kind = "not_equal"}
// CHECK: [[NAN:%.+]] = "qb.constant"() {value = dense<0x7FF8000000000000> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.where"([[U]], [[NAN]], [[TIES]])
// CHECK: [[T:%.+]] = "qb.div"([[S]], [[D]])
// CHECK: return [[R]], [[T]]
func.func @max(%x: tensor<2x3xf64>) -> tensor<3xf64> {
  %0 = "qb.max"(%x) {axis = array<i64: 0>} : (tensor<2x3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @min(
// CHECK: [[R:%.+]] = "qb.min"(%arg0) {axis = array<i64: 1>}
// CHECK: [[K:%.+]] = "qb.reshape"([[R]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[W:%.+]] = "qb.broadcast"([[K]]) : (tensor<2x1xf64>) -> tensor<2x3xf64>
// CHECK: [[MISS:%.+]] = "qb.compare"(%arg0, [[W]]) {kind = "greater"}
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<2x3xf64>}
// CHECK: [[P:%.+]] = "qb.where"([[MISS]], [[Z]], %arg1)
// CHECK: [[S:%.+]] = "qb.sum"([[P]]) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
// CHECK: [[M:%.+]] = "qb.cast"([[MISS]])
// CHECK: [[N:%.+]] = "qb.sum"([[M]]) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
// CHECK: [[C0:%.+]] = "qb.constant"() {value = dense<3.000000e+00> : tensor<f64>}
// CHECK: [[TIES:%.+]] = "qb.sub"([[C0]], [[N]])
// CHECK: [[U:%.+]] = "qb.compare"([[R]], [[R]]) {kind = "not_equal"}
// CHECK: [[NAN:%.+]] = "qb.constant"() {value = dense<0x7FF8000000000000> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.where"([[U]], [[NAN]], [[TIES]])
// CHECK: [[T:%.+]] = "qb.div"([[S]], [[D]])
// CHECK: return [[R]], [[T]]
func.func @min(%x: tensor<2x3xf64>) -> tensor<2xf64> {
  %0 = "qb.min"(%x) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @matmul(
// CHECK: [[R:%.+]] = "qb.matmul"(%arg0, %arg1)
// CHECK: [[A:%.+]] = "qb.matmul"(%arg2, %arg1)
// CHECK: [[B:%.+]] = "qb.matmul"(%arg0, %arg3)
// CHECK: [[T:%.+]] = "qb.add"([[A]], [[B]])
// CHECK: return [[R]], [[T]]
func.func @matmul(%x: tensor<2x3xf64>, %y: tensor<3x4xf64>) -> tensor<2x4xf64> {
  %0 = "qb.matmul"(%x, %y) : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}

// CHECK-LABEL: func.func @matmul_batched(
// CHECK: [[R:%.+]] = "qb.matmul"(%arg0, %arg1)
// CHECK: [[A:%.+]] = "qb.matmul"(%arg2, %arg1)
// CHECK: [[B:%.+]] = "qb.matmul"(%arg0, %arg3)
// CHECK: [[T:%.+]] = "qb.add"([[A]], [[B]])
// CHECK: return [[R]], [[T]]
func.func @matmul_batched(%x: tensor<5x2x3xf64>, %y: tensor<3x4xf64>) -> tensor<5x2x4xf64> {
  %0 = "qb.matmul"(%x, %y) : (tensor<5x2x3xf64>, tensor<3x4xf64>) -> tensor<5x2x4xf64>
  return %0 : tensor<5x2x4xf64>
}
