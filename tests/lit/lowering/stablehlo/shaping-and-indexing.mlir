// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s

// CHECK-LABEL: func.func public @constant_splat(
// CHECK: stablehlo.constant dense<1.500000e+00> : tensor<2x3xf64>
func.func @constant_splat() -> tensor<2x3xf64> {
  %0 = "qb.constant"() {value = dense<1.5> : tensor<2x3xf64>} : () -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// CHECK-LABEL: func.func public @constant_negative_zero(
// CHECK: stablehlo.constant dense<-0.000000e+00> : tensor<f64>
func.func @constant_negative_zero() -> tensor<f64> {
  %0 = "qb.constant"() {value = dense<-0.0> : tensor<f64>} : () -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func public @constant_bool(
// CHECK: stablehlo.constant dense<[true, false]> : tensor<2xi1>
func.func @constant_bool() -> tensor<2xi1> {
  %0 = "qb.constant"() {value = dense<[true, false]> : tensor<2xi1>} : () -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// CHECK-LABEL: func.func public @cast(
// CHECK: stablehlo.convert %{{.*}} : (tensor<3xf64>) -> tensor<3xf32>
func.func @cast(%a0: tensor<3xf64>) -> tensor<3xf32> {
  %0 = "qb.cast"(%a0) : (tensor<3xf64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func public @cast_to_bool(
// CHECK: stablehlo.compare NE, %
func.func @cast_to_bool(%a0: tensor<3xf64>) -> tensor<3xi1> {
  %0 = "qb.cast"(%a0) : (tensor<3xf64>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}

// CHECK-LABEL: func.func public @stop_gradient(
// CHECK: return %arg0
func.func @stop_gradient(%a0: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.stop_gradient"(%a0) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func public @reshape(
// CHECK: stablehlo.reshape %{{.*}} : (tensor<2x3xf64>) -> tensor<6xf64>
func.func @reshape(%a0: tensor<2x3xf64>) -> tensor<6xf64> {
  %0 = "qb.reshape"(%a0) : (tensor<2x3xf64>) -> tensor<6xf64>
  return %0 : tensor<6xf64>
}

// CHECK-LABEL: func.func public @broadcast(
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<3xf64>) -> tensor<2x3xf64>
func.func @broadcast(%a0: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.broadcast"(%a0) : (tensor<3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// CHECK-LABEL: func.func public @transpose(
// CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0] : (tensor<2x3xf64>) -> tensor<3x2xf64>
func.func @transpose(%a0: tensor<2x3xf64>) -> tensor<3x2xf64> {
  %0 = "qb.transpose"(%a0) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func public @concat(
// CHECK: stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 0
func.func @concat(%a0: tensor<2xf64>, %a1: tensor<2xf64>) -> tensor<4xf64> {
  %0 = "qb.concat"(%a0, %a1) {axis = 0 : i64} : (tensor<2xf64>, tensor<2xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @pad(
// CHECK: stablehlo.pad %{{.*}}, low = [1], high = [2], interior = [1]
func.func @pad(%a0: tensor<3xf64>) -> tensor<8xf64> {
  %0 = "qb.pad"(%a0) {high = array<i64: 2>, interior = array<i64: 1>, low = array<i64: 1>} : (tensor<3xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// CHECK-LABEL: func.func public @slice(
// CHECK: stablehlo.slice %arg0 [1:4:2]
func.func @slice(%a0: tensor<5xf64>) -> tensor<2xf64> {
  %0 = "qb.slice"(%a0) {axis = 0 : i64, length = 2 : i64, start = 1 : i64, step = 2 : i64} : (tensor<5xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func public @slice_backwards(
// CHECK: %[[R:.*]] = stablehlo.reverse %arg0, dims = [0]
// CHECK: stablehlo.slice %[[R]] [0:2]
func.func @slice_backwards(%a0: tensor<5xf64>) -> tensor<2xf64> {
  %0 = "qb.slice"(%a0) {axis = 0 : i64, length = 2 : i64, start = 4 : i64, step = -1 : i64} : (tensor<5xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func public @tril(
// CHECK: %[[P:.*]] = stablehlo.compare LE
// CHECK: stablehlo.select %[[P]], %arg0
func.func @tril(%a0: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.tril"(%a0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func public @triu(
// CHECK: %[[P:.*]] = stablehlo.compare GE
// CHECK: stablehlo.select %[[P]], %arg0
func.func @triu(%a0: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.triu"(%a0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func public @gather(
// CHECK: "stablehlo.gather"(%arg0, %{{.*}})
func.func @gather(%a0: tensor<9xf64>) -> tensor<11xf64> {
  %0 = "qb.gather"(%a0) {axis = 0 : i64, indices = array<i64: 0, 7, 2, 5, 1, 6, 3, 4, 0, 8, 3>} : (tensor<9xf64>) -> tensor<11xf64>
  return %0 : tensor<11xf64>
}

// CHECK-LABEL: func.func public @gather_of_runs(
// CHECK: stablehlo.concatenate
func.func @gather_of_runs(%a0: tensor<4xf64>) -> tensor<3xf64> {
  %0 = "qb.gather"(%a0) {axis = 0 : i64, indices = array<i64: 2, 0, 2>} : (tensor<4xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func public @scatter_add(
// CHECK: "stablehlo.scatter"(%arg0, %{{.*}}, %arg1) <{{.*}}unique_indices = false
// CHECK: stablehlo.add
func.func @scatter_add(%a0: tensor<3xf64>, %a1: tensor<4xf64>) -> tensor<3xf64> {
  %0 = "qb.scatter_add"(%a0, %a1) {axis = 0 : i64, indices = array<i64: 1, 1, 0, 1>} : (tensor<3xf64>, tensor<4xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
