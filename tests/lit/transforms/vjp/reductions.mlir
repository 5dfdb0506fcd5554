// RUN: qb-opt %s --qb-vjp | filecheck %s

// Reverse mode of reductions and of the product of matrices.

// CHECK-LABEL: func.func @sum(
// CHECK: [[R:%.+]] = "qb.sum"(%arg0) {axis = array<i64: 1>}
// CHECK: [[K:%.+]] = "qb.reshape"(%arg1) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[C:%.+]] = "qb.broadcast"([[K]]) : (tensor<2x1xf64>) -> tensor<2x3xf64>
// CHECK: return [[R]], [[C]]
func.func @sum(%x: tensor<2x3xf64>) -> tensor<2xf64> {
  %0 = "qb.sum"(%x) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// A sixth of the cotangent for each of six elements.
// CHECK-LABEL: func.func @mean(
// CHECK: [[R:%.+]] = "qb.mean"(%arg0) {axis = array<i64: 0, 1>}
// CHECK: [[N:%.+]] = "qb.constant"() {value = dense<6.000000e+00> : tensor<f64>}
// CHECK: [[Q:%.+]] = "qb.div"(%arg1, [[N]])
// CHECK: [[C:%.+]] = "qb.broadcast"([[Q]]) : (tensor<f64>) -> tensor<2x3xf64>
// CHECK: return [[R]], [[C]]
func.func @mean(%x: tensor<2x3xf64>) -> tensor<f64> {
  %0 = "qb.mean"(%x) {axis = array<i64: 0, 1>} : (tensor<2x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// Element i went into every sum from i on.
// CHECK-LABEL: func.func @cumsum(
// CHECK: [[R:%.+]] = "qb.cumsum"(%arg0) {axis = 1 : i64, reverse = false}
// CHECK: [[C:%.+]] = "qb.cumsum"(%arg1) {axis = 1 : i64, reverse = true}
// CHECK: return [[R]], [[C]]
func.func @cumsum(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.cumsum"(%x) {axis = 1 : i64, reverse = false} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// The elements that attain it share the cotangent.
// CHECK-LABEL: func.func @max(
// CHECK: [[R:%.+]] = "qb.max"(%arg0) {axis = array<i64: 0>}
// CHECK: [[W:%.+]] = "qb.broadcast"([[R]]) : (tensor<3xf64>) -> tensor<2x3xf64>
// CHECK: [[MISS:%.+]] = "qb.compare"(%arg0, [[W]]) {kind = "less"}
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<2x3xf64>}
// CHECK: [[M:%.+]] = "qb.cast"([[MISS]])
// CHECK: [[N:%.+]] = "qb.sum"([[M]]) {axis = array<i64: 0>} : (tensor<2x3xf64>) -> tensor<3xf64>
// CHECK: [[C0:%.+]] = "qb.constant"() {value = dense<2.000000e+00> : tensor<f64>}
// CHECK: [[TIES:%.+]] = "qb.sub"([[C0]], [[N]])
// CHECK: [[U:%.+]] = "qb.compare"([[R]], [[R]]) {kind = "not_equal"}
// CHECK: [[NAN:%.+]] = "qb.constant"() {value = dense<0x7FF8000000000000> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.where"([[U]], [[NAN]], [[TIES]])
// CHECK: [[S:%.+]] = "qb.div"(%arg1, [[D]])
// CHECK: [[V:%.+]] = "qb.broadcast"([[S]]) : (tensor<3xf64>) -> tensor<2x3xf64>
// CHECK: [[C:%.+]] = "qb.where"([[MISS]], [[Z]], [[V]])
// CHECK: return [[R]], [[C]]
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
// CHECK: [[M:%.+]] = "qb.cast"([[MISS]])
// CHECK: [[N:%.+]] = "qb.sum"([[M]]) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
// CHECK: [[C0:%.+]] = "qb.constant"() {value = dense<3.000000e+00> : tensor<f64>}
// CHECK: [[TIES:%.+]] = "qb.sub"([[C0]], [[N]])
// CHECK: [[U:%.+]] = "qb.compare"([[R]], [[R]]) {kind = "not_equal"}
// CHECK: [[NAN:%.+]] = "qb.constant"() {value = dense<0x7FF8000000000000> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.where"([[U]], [[NAN]], [[TIES]])
// CHECK: [[S:%.+]] = "qb.div"(%arg1, [[D]])
// CHECK: [[L:%.+]] = "qb.reshape"([[S]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[V:%.+]] = "qb.broadcast"([[L]]) : (tensor<2x1xf64>) -> tensor<2x3xf64>
// CHECK: [[C:%.+]] = "qb.where"([[MISS]], [[Z]], [[V]])
// CHECK: return [[R]], [[C]]
func.func @min(%x: tensor<2x3xf64>) -> tensor<2xf64> {
  %0 = "qb.min"(%x) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// C B^T and A^T C for the cotangent C.
// CHECK-LABEL: func.func @matmul(
// CHECK: [[R:%.+]] = "qb.matmul"(%arg0, %arg1)
// CHECK: [[B:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 0>}
// CHECK: [[X:%.+]] = "qb.matmul"(%arg2, [[B]]) : (tensor<2x4xf64>, tensor<4x3xf64>) -> tensor<2x3xf64>
// CHECK: [[A:%.+]] = "qb.transpose"(%arg0) {axes = array<i64: 1, 0>}
// CHECK: [[Y:%.+]] = "qb.matmul"([[A]], %arg2) : (tensor<3x2xf64>, tensor<2x4xf64>) -> tensor<3x4xf64>
// CHECK: return [[R]], [[X]], [[Y]]
func.func @matmul(%x: tensor<2x3xf64>, %y: tensor<3x4xf64>) -> tensor<2x4xf64> {
  %0 = "qb.matmul"(%x, %y) : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}

// A matrix that every batch shares gets the sum over batches, as one product.
// CHECK-LABEL: func.func @matmul_batched(
// CHECK: [[R:%.+]] = "qb.matmul"(%arg0, %arg1)
// CHECK: [[B:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 0>}
// CHECK: [[X:%.+]] = "qb.matmul"(%arg2, [[B]]) : (tensor<5x2x4xf64>, tensor<4x3xf64>) -> tensor<5x2x3xf64>
// CHECK: [[P:%.+]] = "qb.reshape"(%arg0) : (tensor<5x2x3xf64>) -> tensor<10x3xf64>
// CHECK: [[A:%.+]] = "qb.transpose"([[P]]) {axes = array<i64: 1, 0>}
// CHECK: [[Q:%.+]] = "qb.reshape"(%arg2) : (tensor<5x2x4xf64>) -> tensor<10x4xf64>
// CHECK: [[Y:%.+]] = "qb.matmul"([[A]], [[Q]]) : (tensor<3x10xf64>, tensor<10x4xf64>) -> tensor<3x4xf64>
// CHECK: return [[R]], [[X]], [[Y]]
func.func @matmul_batched(%x: tensor<5x2x3xf64>, %y: tensor<3x4xf64>) -> tensor<5x2x4xf64> {
  %0 = "qb.matmul"(%x, %y) : (tensor<5x2x3xf64>, tensor<3x4xf64>) -> tensor<5x2x4xf64>
  return %0 : tensor<5x2x4xf64>
}
