// RUN: qb-opt %s --emit=mlx | filecheck %s
// StableHLO is translated as it is.

// CHECK: C0 = mx.array([True, False, True], mx.bool_)

// CHECK: def products(a0, a1, a2):
// CHECK-NEXT: v0 = a0 @ a1
// CHECK-NEXT: v1 = mx.transpose(a2, (0, 2, 1))
// CHECK-NEXT: v2 = a2 @ v1
// CHECK-NEXT: return (v0, v2)
func.func @products(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<5x2x3xf32>) -> (tensor<2x4xf32>, tensor<5x2x2xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.dot_general %c, %c, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<5x2x3xf32>, tensor<5x2x3xf32>) -> tensor<5x2x2xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<5x2x2xf32>
}

// CHECK: def reductions(a0):
// CHECK-NEXT: mx.sum(a0, axis=(1,))
// CHECK-NEXT: mx.max(a0, axis=(0,))
// CHECK-NEXT: mx.cumsum(a0, axis=1)
func.func @reductions(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<3xf32>, tensor<2x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [2, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<3xf32>, tensor<2x3xf32>
}

// CHECK: def moved(a0):
// CHECK-NEXT: mx.where(C0, a0, 1.0)
// CHECK-NEXT: mx.reshape(v0, (3, 1))
// CHECK-NEXT: mx.broadcast_to(v1, (3, 2))
// CHECK-NEXT: v2[1:, ::2]
// CHECK-NEXT: v0[::-1]
func.func @moved(%x: tensor<3xf32>) -> (tensor<2x1xf32>, tensor<3xf32>) {
  %mask = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %one = stablehlo.constant dense<1.0> : tensor<3xf32>
  %0 = stablehlo.select %mask, %x, %one : tensor<3xi1>, tensor<3xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<3xf32>) -> tensor<3x2xf32>
  %2 = stablehlo.slice %1 [1:3, 0:2:2] : (tensor<3x2xf32>) -> tensor<2x1xf32>
  %3 = stablehlo.reverse %0, dims = [0] : tensor<3xf32>
  return %2, %3 : tensor<2x1xf32>, tensor<3xf32>
}

// CHECK: def sorted(a0):
// CHECK-NEXT: mx.sort(a0, axis=0)
func.func @sorted(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
