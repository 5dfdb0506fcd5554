// RUN: qb-opt %s --qb-vmap=size=4 | filecheck %s

// Ops that move data: their axes shift by one.

// CHECK-LABEL: func.func @cast(
// CHECK: [[R:%.+]] = "qb.cast"(%arg0) : (tensor<4x3xf32>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @cast(%x: tensor<3xf32>) -> tensor<3xf64> {
  %0 = "qb.cast"(%x) : (tensor<3xf32>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @reshape(
// CHECK: [[R:%.+]] = "qb.reshape"(%arg0) : (tensor<4x2x3xf64>) -> tensor<4x6xf64>
// CHECK: return [[R]]
func.func @reshape(%x: tensor<2x3xf64>) -> tensor<6xf64> {
  %0 = "qb.reshape"(%x) : (tensor<2x3xf64>) -> tensor<6xf64>
  return %0 : tensor<6xf64>
}

// CHECK-LABEL: func.func @broadcast(
// CHECK: [[A:%.+]] = "qb.reshape"(%arg0) : (tensor<4x3xf64>) -> tensor<4x1x3xf64>
// CHECK: [[R:%.+]] = "qb.broadcast"([[A]]) : (tensor<4x1x3xf64>) -> tensor<4x2x3xf64>
// CHECK: return [[R]]
func.func @broadcast(%x: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.broadcast"(%x) : (tensor<3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// CHECK-LABEL: func.func @transpose(
// CHECK: [[R:%.+]] = "qb.transpose"(%arg0) {axes = array<i64: 0, 2, 3, 1>} : (tensor<4x2x3x4xf64>) -> tensor<4x3x4x2xf64>
// CHECK: return [[R]]
func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<3x4x2xf64> {
  %0 = "qb.transpose"(%x) {axes = array<i64: 1, 2, 0>} : (tensor<2x3x4xf64>) -> tensor<3x4x2xf64>
  return %0 : tensor<3x4x2xf64>
}

// CHECK-LABEL: func.func @pad(
// CHECK: [[R:%.+]] = "qb.pad"(%arg0) {high = array<i64: 0, 2>, interior = array<i64: 0, 1>, low = array<i64: 0, 1>}
// CHECK: return [[R]]
func.func @pad(%x: tensor<3xf64>) -> tensor<8xf64> {
  %0 = "qb.pad"(%x) {low = array<i64: 1>, high = array<i64: 2>, interior = array<i64: 1>} : (tensor<3xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// CHECK-LABEL: func.func @tril(
// CHECK: [[R:%.+]] = "qb.tril"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
// CHECK: return [[R]]
func.func @tril(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.tril"(%x) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @triu(
// CHECK: [[R:%.+]] = "qb.triu"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
// CHECK: return [[R]]
func.func @triu(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.triu"(%x) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @slice(
// CHECK: [[R:%.+]] = "qb.slice"(%arg0) {axis = 1 : i64, length = 2 : i64, start = 1 : i64, step = 2 : i64}
// CHECK: return [[R]]
func.func @slice(%x: tensor<5xf64>) -> tensor<2xf64> {
  %0 = "qb.slice"(%x) {axis = 0 : i64, length = 2 : i64, start = 1 : i64, step = 2 : i64} : (tensor<5xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @gather(
// CHECK: [[R:%.+]] = "qb.gather"(%arg0) {axis = 1 : i64, indices = array<i64: 4, 0, 4>} : (tensor<4x5xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @gather(%x: tensor<5xf64>) -> tensor<3xf64> {
  %0 = "qb.gather"(%x) {axis = 0 : i64, indices = array<i64: 4, 0, 4>} : (tensor<5xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @scatter_add(
// CHECK: [[R:%.+]] = "qb.scatter_add"(%arg0, %arg1) {axis = 1 : i64, indices = array<i64: 4, 0, 4>} : (tensor<4x5xf64>, tensor<4x3xf64>) -> tensor<4x5xf64>
// CHECK: return [[R]]
func.func @scatter_add(%x: tensor<5xf64>, %y: tensor<3xf64>) -> tensor<5xf64> {
  %0 = "qb.scatter_add"(%x, %y) {axis = 0 : i64, indices = array<i64: 4, 0, 4>} : (tensor<5xf64>, tensor<3xf64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// CHECK-LABEL: func.func @concat(
// CHECK: [[A:%.+]] = tensor.cast %arg0 : tensor<4x2xf64> to tensor<4x?xf64>
// CHECK: [[B:%.+]] = tensor.cast %arg1 : tensor<4x3xf64> to tensor<4x?xf64>
// CHECK: [[R:%.+]] = "qb.concat"([[A]], [[B]]) {axis = 1 : i64} : (tensor<4x?xf64>, tensor<4x?xf64>) -> tensor<4x5xf64>
// CHECK: return [[R]]
func.func @concat(%x: tensor<2xf64>, %y: tensor<3xf64>) -> tensor<5xf64> {
  %0 = tensor.cast %x : tensor<2xf64> to tensor<?xf64>
  %1 = tensor.cast %y : tensor<3xf64> to tensor<?xf64>
  %2 = "qb.concat"(%0, %1) {axis = 0 : i64} : (tensor<?xf64>, tensor<?xf64>) -> tensor<5xf64>
  return %2 : tensor<5xf64>
}

// A result that does not depend on a mapped argument is repeated.
// CHECK-LABEL: func.func @constant(
// CHECK: [[R:%.+]] = "qb.constant"() {value = dense<2.000000e+00> : tensor<4x3xf64>}
// CHECK: return [[R]]
func.func @constant(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.constant"() {value = dense<2.0> : tensor<3xf64>} : () -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @stop_gradient(
// CHECK: [[R:%.+]] = "qb.stop_gradient"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @stop_gradient(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.stop_gradient"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
