// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s

// CHECK-LABEL: func.func public @sum(
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [1]
func.func @sum(%a0: tensor<2x3xf64>) -> tensor<2xf64> {
  %0 = "qb.sum"(%a0) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func public @max(
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.maximum across dimensions = [1]
func.func @max(%a0: tensor<2x3xf64>) -> tensor<2xf64> {
  %0 = "qb.max"(%a0) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func public @min(
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.minimum across dimensions = [1]
func.func @min(%a0: tensor<2x3xf64>) -> tensor<2xf64> {
  %0 = "qb.min"(%a0) {axis = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func public @mean(
// CHECK: applies stablehlo.add across dimensions = [0]
// CHECK: %[[N:.*]] = stablehlo.constant dense<4.0
// CHECK: stablehlo.divide %{{.*}}, %[[N]] : tensor<f64>
func.func @mean(%a0: tensor<4xf64>) -> tensor<f64> {
  %0 = "qb.mean"(%a0) {axis = array<i64: 0>} : (tensor<4xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func public @cumsum(
// CHECK: "stablehlo.reduce_window"(%arg0, %{{.*}}) <{padding = dense<{{\[\[}}3, 0{{\]\]}}>
// CHECK: stablehlo.add
func.func @cumsum(%a0: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.cumsum"(%a0) {axis = 0 : i64, reverse = false} : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @cumsum_from_the_end(
// CHECK: "stablehlo.reduce_window"(%arg0, %{{.*}}) <{padding = dense<{{\[\[}}0, 3{{\]\]}}>
// CHECK: stablehlo.add
func.func @cumsum_from_the_end(%a0: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.cumsum"(%a0) {axis = 0 : i64, reverse = true} : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @powi(
// CHECK: %[[S:.*]] = stablehlo.multiply %arg0, %arg0
// CHECK: stablehlo.multiply {{.*}}%[[S]]
func.func @powi(%a0: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.powi"(%a0) {n = 3 : i64} : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @matmul(
// CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
func.func @matmul(%a0: tensor<2x3xf64>, %a1: tensor<3x4xf64>) -> tensor<2x4xf64> {
  %0 = "qb.matmul"(%a0, %a1) : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}

// CHECK-LABEL: func.func public @matmul_of_stacks(
// CHECK: stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1]
func.func @matmul_of_stacks(%a0: tensor<5x2x3xf64>, %a1: tensor<5x3x4xf64>) -> tensor<5x2x4xf64> {
  %0 = "qb.matmul"(%a0, %a1) : (tensor<5x2x3xf64>, tensor<5x3x4xf64>) -> tensor<5x2x4xf64>
  return %0 : tensor<5x2x4xf64>
}

// CHECK-LABEL: func.func public @powi_large(
// CHECK: stablehlo.power %arg0, %
func.func @powi_large(%a0: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.powi"(%a0) {n = 31 : i64} : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
