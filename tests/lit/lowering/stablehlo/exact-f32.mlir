// RUN: qb-opt %s --stablehlo-exact-f32 | filecheck %s

// CHECK-LABEL: func.func public @native(
// CHECK-NOT: f64
// CHECK: return
func.func public @native(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.subtract %0, %y : tensor<4xf32>
  %2 = stablehlo.multiply %1, %y : tensor<4xf32>
  %3 = stablehlo.divide %2, %y : tensor<4xf32>
  %4 = stablehlo.sqrt %3 : tensor<4xf32>
  %5 = stablehlo.negate %4 : tensor<4xf32>
  %6 = stablehlo.maximum %5, %y : tensor<4xf32>
  %7 = stablehlo.compare LT, %6, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %8 = stablehlo.select %7, %6, %y : tensor<4xi1>, tensor<4xf32>
  %9 = stablehlo.floor %8 : tensor<4xf32>
  return %9 : tensor<4xf32>
}

// CHECK-LABEL: func.func public @widened(
// CHECK: %[[A:.*]] = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xf64>
// CHECK: %[[R:.*]] = stablehlo.tanh %[[A]] : tensor<4xf64>
// CHECK: %[[N:.*]] = stablehlo.convert %[[R]] : (tensor<4xf64>) -> tensor<4xf32>
// CHECK: return %[[N]]
func.func public @widened(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// One op after another rounds in between.
// CHECK-LABEL: func.func public @two_ops(
// CHECK: stablehlo.tanh %{{.*}} : tensor<4xf64>
// CHECK: stablehlo.convert %{{.*}} : (tensor<4xf64>) -> tensor<4xf32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xf64>
// CHECK: stablehlo.exponential %{{.*}} : tensor<4xf64>
func.func public @two_ops(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.exponential %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func public @sum(
// CHECK: applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
// CHECK: stablehlo.convert %{{.*}} : (tensor<f64>) -> tensor<f32>
func.func public @sum(%x: tensor<4xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func public @largest(
// CHECK-NOT: f64
// CHECK: return
func.func public @largest(%x: tensor<4xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func public @product(
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [0]{{.*}} : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
// CHECK: stablehlo.convert %{{.*}} : (tensor<2x4xf64>) -> tensor<2x4xf32>
func.func public @product(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func public @already_f64(
// CHECK-NOT: stablehlo.convert
// CHECK: stablehlo.tanh %arg0 : tensor<4xf64>
func.func public @already_f64(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.tanh %x : tensor<4xf64>
  return %0 : tensor<4xf64>
}

// A decomposition rounds on return and nowhere else, and its constants are the numbers that were meant.
// CHECK-LABEL: func.func public @composite(
// CHECK: stablehlo.composite "qb.log2" %arg0 {decomposition = @log2} : (tensor<4xf32>) -> tensor<4xf32>
func.func public @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "qb.log2" %x {decomposition = @log2} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @log2(
// CHECK: stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xf64>
// CHECK: stablehlo.log %{{.*}} : tensor<4xf64>
// CHECK-NOT: tensor<4xf32>
// CHECK: stablehlo.constant dense<0.69314718055994529> : tensor<4xf64>
// CHECK-NOT: tensor<4xf32>
// CHECK: stablehlo.divide %{{.*}} : tensor<4xf64>
// CHECK: stablehlo.convert %{{.*}} : (tensor<4xf64>) -> tensor<4xf32>
func.func private @log2(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.log %x : tensor<4xf32>
  %c = stablehlo.constant {qb.value = 0.69314718055994529 : f64} dense<0.693147182> : tensor<4xf32>
  %1 = stablehlo.divide %0, %c : tensor<4xf32>
  return %1 : tensor<4xf32>
}
