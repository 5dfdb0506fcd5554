// RUN: qb-opt %s --qb-jvp | filecheck %s

// Forward mode of ops that move data: they are linear, so the tangent is the op applied to the tangents.

// CHECK-LABEL: func.func @cast(
// CHECK: [[R:%.+]] = "qb.cast"(%arg0)
// CHECK: [[T:%.+]] = "qb.cast"(%arg1) : (tensor<3xf32>) -> tensor<3xf64>
// CHECK: return [[R]], [[T]]
func.func @cast(%x: tensor<3xf32>) -> tensor<3xf64> {
  %0 = "qb.cast"(%x) : (tensor<3xf32>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @reshape(
// CHECK: [[R:%.+]] = "qb.reshape"(%arg0)
// CHECK: [[T:%.+]] = "qb.reshape"(%arg1) : (tensor<2x3xf64>) -> tensor<6xf64>
// CHECK: return [[R]], [[T]]
func.func @reshape(%x: tensor<2x3xf64>) -> tensor<6xf64> {
  %0 = "qb.reshape"(%x) : (tensor<2x3xf64>) -> tensor<6xf64>
  return %0 : tensor<6xf64>
}

// CHECK-LABEL: func.func @broadcast(
// CHECK: [[R:%.+]] = "qb.broadcast"(%arg0)
// CHECK: [[T:%.+]] = "qb.broadcast"(%arg1) : (tensor<3xf64>) -> tensor<2x3xf64>
// CHECK: return [[R]], [[T]]
func.func @broadcast(%x: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.broadcast"(%x) : (tensor<3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// CHECK-LABEL: func.func @transpose(
// CHECK: [[R:%.+]] = "qb.transpose"(%arg0) {axes = array<i64: 1, 2, 0>}
// CHECK: [[T:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 2, 0>} : (tensor<2x3x4xf64>) -> tensor<3x4x2xf64>
// CHECK: return [[R]], [[T]]
func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<3x4x2xf64> {
  %0 = "qb.transpose"(%x) {axes = array<i64: 1, 2, 0>} : (tensor<2x3x4xf64>) -> tensor<3x4x2xf64>
  return %0 : tensor<3x4x2xf64>
}

// CHECK-LABEL: func.func @pad(
// CHECK: [[R:%.+]] = "qb.pad"(%arg0) {high = array<i64: 2>, interior = array<i64: 1>, low = array<i64: 1>}
// CHECK: [[T:%.+]] = "qb.pad"(%arg1) {high = array<i64: 2>, interior = array<i64: 1>, low = array<i64: 1>} : (tensor<3xf64>) -> tensor<8xf64>
// CHECK: return [[R]], [[T]]
func.func @pad(%x: tensor<3xf64>) -> tensor<8xf64> {
  %0 = "qb.pad"(%x) {low = array<i64: 1>, high = array<i64: 2>, interior = array<i64: 1>} : (tensor<3xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// CHECK-LABEL: func.func @tril(
// CHECK: [[R:%.+]] = "qb.tril"(%arg0)
// CHECK: [[T:%.+]] = "qb.tril"(%arg1) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[R]], [[T]]
func.func @tril(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.tril"(%x) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @triu(
// CHECK: [[R:%.+]] = "qb.triu"(%arg0)
// CHECK: [[T:%.+]] = "qb.triu"(%arg1) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[R]], [[T]]
func.func @triu(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.triu"(%x) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @slice(
// CHECK: [[R:%.+]] = "qb.slice"(%arg0) {axis = 0 : i64, length = 2 : i64, start = 1 : i64, step = 2 : i64}
// CHECK: [[T:%.+]] = "qb.slice"(%arg1) {axis = 0 : i64, length = 2 : i64, start = 1 : i64, step = 2 : i64} : (tensor<5xf64>) -> tensor<2xf64>
// CHECK: return [[R]], [[T]]
func.func @slice(%x: tensor<5xf64>) -> tensor<2xf64> {
  %0 = "qb.slice"(%x) {axis = 0 : i64, length = 2 : i64, start = 1 : i64, step = 2 : i64} : (tensor<5xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @slice_backwards(
// CHECK: [[R:%.+]] = "qb.slice"(%arg0) {axis = 0 : i64, length = 2 : i64, start = 3 : i64, step = -1 : i64}
// CHECK: [[T:%.+]] = "qb.slice"(%arg1) {axis = 0 : i64, length = 2 : i64, start = 3 : i64, step = -1 : i64} : (tensor<5xf64>) -> tensor<2xf64>
// CHECK: return [[R]], [[T]]
func.func @slice_backwards(%x: tensor<5xf64>) -> tensor<2xf64> {
  %0 = "qb.slice"(%x) {axis = 0 : i64, length = 2 : i64, start = 3 : i64, step = -1 : i64} : (tensor<5xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @gather(
// CHECK: [[R:%.+]] = "qb.gather"(%arg0) {axis = 0 : i64, indices = array<i64: 4, 0, 4>}
// CHECK: [[T:%.+]] = "qb.gather"(%arg1) {axis = 0 : i64, indices = array<i64: 4, 0, 4>} : (tensor<5xf64>) -> tensor<3xf64>
// CHECK: return [[R]], [[T]]
func.func @gather(%x: tensor<5xf64>) -> tensor<3xf64> {
  %0 = "qb.gather"(%x) {axis = 0 : i64, indices = array<i64: 4, 0, 4>} : (tensor<5xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @scatter_add(
// CHECK: [[R:%.+]] = "qb.scatter_add"(%arg0, %arg1) {axis = 0 : i64, indices = array<i64: 4, 0, 4>}
// CHECK: [[T:%.+]] = "qb.scatter_add"(%arg2, %arg3) {axis = 0 : i64, indices = array<i64: 4, 0, 4>}
// CHECK: return [[R]], [[T]]
func.func @scatter_add(%x: tensor<5xf64>, %y: tensor<3xf64>) -> tensor<5xf64> {
  %0 = "qb.scatter_add"(%x, %y) {axis = 0 : i64, indices = array<i64: 4, 0, 4>} : (tensor<5xf64>, tensor<3xf64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// CHECK-LABEL: func.func @concat(
// CHECK: "qb.concat"
// CHECK: [[A:%.+]] = tensor.cast %arg2 : tensor<2xf64> to tensor<?xf64>
// CHECK: [[B:%.+]] = tensor.cast %arg3 : tensor<3xf64> to tensor<?xf64>
// CHECK: [[T:%.+]] = "qb.concat"([[A]], [[B]]) {axis = 0 : i64} : (tensor<?xf64>, tensor<?xf64>) -> tensor<5xf64>
// CHECK: return %{{.+}}, [[T]]
func.func @concat(%x: tensor<2xf64>, %y: tensor<3xf64>) -> tensor<5xf64> {
  %0 = tensor.cast %x : tensor<2xf64> to tensor<?xf64>
  %1 = tensor.cast %y : tensor<3xf64> to tensor<?xf64>
  %2 = "qb.concat"(%0, %1) {axis = 0 : i64} : (tensor<?xf64>, tensor<?xf64>) -> tensor<5xf64>
  return %2 : tensor<5xf64>
}

// A constant has no tangent: the zero is written because it is a result.
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
