// RUN: qb-opt %s --qb-vjp | filecheck %s

// Reverse mode of ops that move data: the transpose of a linear map moves the cotangent back.

// CHECK-LABEL: func.func @cast(
// CHECK: [[R:%.+]] = "qb.cast"(%arg0)
// CHECK: [[C:%.+]] = "qb.cast"(%arg1) : (tensor<3xf64>) -> tensor<3xf32>
// CHECK: return [[R]], [[C]]
func.func @cast(%x: tensor<3xf32>) -> tensor<3xf64> {
  %0 = "qb.cast"(%x) : (tensor<3xf32>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @reshape(
// CHECK: [[R:%.+]] = "qb.reshape"(%arg0)
// CHECK: [[C:%.+]] = "qb.reshape"(%arg1) : (tensor<6xf64>) -> tensor<2x3xf64>
// CHECK: return [[R]], [[C]]
func.func @reshape(%x: tensor<2x3xf64>) -> tensor<6xf64> {
  %0 = "qb.reshape"(%x) : (tensor<2x3xf64>) -> tensor<6xf64>
  return %0 : tensor<6xf64>
}

// CHECK-LABEL: func.func @broadcast(
// CHECK: [[R:%.+]] = "qb.broadcast"(%arg0)
// CHECK: [[C:%.+]] = "qb.sum"(%arg1) {axis = array<i64: 0>} : (tensor<2x3xf64>) -> tensor<3xf64>
// CHECK: return [[R]], [[C]]
func.func @broadcast(%x: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.broadcast"(%x) : (tensor<3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// The inverse permutation.
// CHECK-LABEL: func.func @transpose(
// CHECK: [[R:%.+]] = "qb.transpose"(%arg0) {axes = array<i64: 1, 2, 0>}
// CHECK: [[C:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 2, 0, 1>} : (tensor<3x4x2xf64>) -> tensor<2x3x4xf64>
// CHECK: return [[R]], [[C]]
func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<3x4x2xf64> {
  %0 = "qb.transpose"(%x) {axes = array<i64: 1, 2, 0>} : (tensor<2x3x4xf64>) -> tensor<3x4x2xf64>
  return %0 : tensor<3x4x2xf64>
}

// Elements 1, 3 and 5 are not padding.
// CHECK-LABEL: func.func @pad(
// CHECK: [[R:%.+]] = "qb.pad"(%arg0) {high = array<i64: 2>, interior = array<i64: 1>, low = array<i64: 1>}
// CHECK: [[C:%.+]] = "qb.slice"(%arg1) {axis = 0 : i64, length = 3 : i64, start = 1 : i64, step = 2 : i64}
// CHECK: return [[R]], [[C]]
func.func @pad(%x: tensor<3xf64>) -> tensor<8xf64> {
  %0 = "qb.pad"(%x) {low = array<i64: 1>, high = array<i64: 2>, interior = array<i64: 1>} : (tensor<3xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// CHECK-LABEL: func.func @tril(
// CHECK: [[R:%.+]] = "qb.tril"(%arg0)
// CHECK: [[C:%.+]] = "qb.tril"(%arg1)
// CHECK: return [[R]], [[C]]
func.func @tril(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.tril"(%x) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @triu(
// CHECK: [[R:%.+]] = "qb.triu"(%arg0)
// CHECK: [[C:%.+]] = "qb.triu"(%arg1)
// CHECK: return [[R]], [[C]]
func.func @triu(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.triu"(%x) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// Elements 1 and 3 of five.
// CHECK-LABEL: func.func @slice(
// CHECK: [[R:%.+]] = "qb.slice"(%arg0) {axis = 0 : i64, length = 2 : i64, start = 1 : i64, step = 2 : i64}
// CHECK: [[C:%.+]] = "qb.pad"(%arg1) {high = array<i64: 1>, interior = array<i64: 1>, low = array<i64: 1>}
// CHECK: return [[R]], [[C]]
func.func @slice(%x: tensor<5xf64>) -> tensor<2xf64> {
  %0 = "qb.slice"(%x) {axis = 0 : i64, length = 2 : i64, start = 1 : i64, step = 2 : i64} : (tensor<5xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// Elements 3 and 2 of five, in this order.
// CHECK-LABEL: func.func @slice_backwards(
// CHECK: [[R:%.+]] = "qb.slice"(%arg0) {axis = 0 : i64, length = 2 : i64, start = 3 : i64, step = -1 : i64}
// CHECK: [[F:%.+]] = "qb.slice"(%arg1) {axis = 0 : i64, length = 2 : i64, start = 1 : i64, step = -1 : i64}
// CHECK: [[C:%.+]] = "qb.pad"([[F]]) {high = array<i64: 1>, interior = array<i64: 0>, low = array<i64: 2>}
// CHECK: return [[R]], [[C]]
func.func @slice_backwards(%x: tensor<5xf64>) -> tensor<2xf64> {
  %0 = "qb.slice"(%x) {axis = 0 : i64, length = 2 : i64, start = 3 : i64, step = -1 : i64} : (tensor<5xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// An element that was taken twice gets the sum of two cotangents.
// CHECK-LABEL: func.func @gather(
// CHECK: [[R:%.+]] = "qb.gather"(%arg0) {axis = 0 : i64, indices = array<i64: 4, 0, 4>}
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<5xf64>}
// CHECK: [[C:%.+]] = "qb.scatter_add"([[Z]], %arg1) {axis = 0 : i64, indices = array<i64: 4, 0, 4>}
// CHECK: return [[R]], [[C]]
func.func @gather(%x: tensor<5xf64>) -> tensor<3xf64> {
  %0 = "qb.gather"(%x) {axis = 0 : i64, indices = array<i64: 4, 0, 4>} : (tensor<5xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @scatter_add(
// CHECK: [[R:%.+]] = "qb.scatter_add"(%arg0, %arg1) {axis = 0 : i64, indices = array<i64: 4, 0, 4>}
// CHECK: [[C:%.+]] = "qb.gather"(%arg2) {axis = 0 : i64, indices = array<i64: 4, 0, 4>}
// CHECK: return [[R]], %arg2, [[C]]
func.func @scatter_add(%x: tensor<5xf64>, %y: tensor<3xf64>) -> tensor<5xf64> {
  %0 = "qb.scatter_add"(%x, %y) {axis = 0 : i64, indices = array<i64: 4, 0, 4>} : (tensor<5xf64>, tensor<3xf64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// CHECK-LABEL: func.func @concat(
// CHECK: "qb.concat"
// CHECK: [[A:%.+]] = "qb.slice"(%arg2) {axis = 0 : i64, length = 2 : i64, start = 0 : i64, step = 1 : i64}
// CHECK: [[B:%.+]] = "qb.slice"(%arg2) {axis = 0 : i64, length = 3 : i64, start = 2 : i64, step = 1 : i64}
// CHECK: return %{{.+}}, [[A]], [[B]]
func.func @concat(%x: tensor<2xf64>, %y: tensor<3xf64>) -> tensor<5xf64> {
  %0 = tensor.cast %x : tensor<2xf64> to tensor<?xf64>
  %1 = tensor.cast %y : tensor<3xf64> to tensor<?xf64>
  %2 = "qb.concat"(%0, %1) {axis = 0 : i64} : (tensor<?xf64>, tensor<?xf64>) -> tensor<5xf64>
  return %2 : tensor<5xf64>
}

// CHECK-LABEL: func.func @constant(
// CHECK: [[R:%.+]] = "qb.constant"() {value = dense<2.000000e+00> : tensor<3xf64>}
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: return [[R]], [[Z]]
func.func @constant(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.constant"() {value = dense<2.0> : tensor<3xf64>} : () -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @stop_gradient(
// CHECK: [[R:%.+]] = "qb.stop_gradient"(%arg0)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: return [[R]], [[Z]]
func.func @stop_gradient(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.stop_gradient"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
