// RUN: qb-opt %s --emit=mlx | filecheck %s
// One line for each op, numbers where they are used; float64 becomes float32.

// CHECK: import mlx.core as mx
// CHECK: from quabla.lowering.mlx import helpers

// CHECK: @mx.compile
// CHECK-NEXT: def arithmetic(arg0, arg1):
// CHECK-NEXT:     v0 = arg0 * arg1
// CHECK-NEXT:     v1 = v0 + 0.1
// CHECK-NEXT:     v2 = v1 / arg1
// CHECK-NEXT:     return (v2,)
func.func @arithmetic(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.mul"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %1 = "qb.constant"() {value = dense<0.1> : tensor<4xf64>} : () -> tensor<4xf64>
  %2 = "qb.add"(%0, %1) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %3 = "qb.div"(%2, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %3 : tensor<4xf64>
}

// What MLX has under its own name; a sine that keeps the sign of zero.
// CHECK: def named(arg0):
// CHECK-NEXT: mx.sinh(arg0)
// CHECK-NEXT: mx.tanh(
// CHECK-NEXT: helpers.sin(
// CHECK-NEXT: helpers.erf(
func.func @named(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "qb.sinh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "qb.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "qb.sin"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "qb.erf"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// What MLX has no name for is a function that says what it means.
// CHECK: def _qb_softplus_f32_4(a0):
// CHECK: mx.exp(
// CHECK: def decomposed(arg0):
// CHECK-NEXT: _qb_softplus_f32_4(arg0)
func.func @decomposed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "qb.softplus"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
