// RUN: qb-opt %s --qb-jvp | filecheck %s

// A function keeps its name and visibility, and what is no function of qb ops is left alone.

// CHECK-LABEL: func.func private @inner(
// CHECK: "qb.neg"(%arg1)
func.func private @inner(%x: tensor<f64>) -> tensor<f64> {
  %0 = "qb.neg"(%x) : (tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// A declaration has no body.
// CHECK-LABEL: func.func private @declared(tensor<f64>) -> tensor<f64>
func.func private @declared(tensor<f64>) -> tensor<f64>

// Bool and constant results have no tangent, or zero.
// CHECK-LABEL: func.func @mixed(
// CHECK-SAME: %arg0: tensor<i1> {{.*}}, %arg1: tensor<f32> {{.*}}, %arg2: tensor<f32> {{.*}}) -> (tensor<i1>, tensor<f32>, tensor<f32>)
// CHECK: return %arg0, %arg1, %arg2
func.func @mixed(%p: tensor<i1>, %x: tensor<f32>) -> (tensor<i1>, tensor<f32>) {
  return %p, %x : tensor<i1>, tensor<f32>
}
