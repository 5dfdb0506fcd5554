// RUN: qb-opt %s --qb-vmap='size=2 in-axes=0,none' | filecheck %s

// Indices that all lanes share.

// CHECK-LABEL: func.func @gather_nd(
// CHECK: [[G:%.+]] = "qb.gather_nd"(%arg0, %arg1) {axes = array<i64: 1>, outside = "clamp"} : (tensor<2x4x3xf64>, tensor<5x1xi64>) -> tensor<5x2x3xf64>
// CHECK: [[R:%.+]] = "qb.transpose"([[G]]) {axes = array<i64: 1, 0, 2>}
// CHECK: return [[R]]
func.func @gather_nd(%x: tensor<4x3xf64>, %i: tensor<5x1xi64>) -> tensor<5x3xf64> {
  %0 = "qb.gather_nd"(%x, %i) {axes = array<i64: 0>, outside = "clamp"} : (tensor<4x3xf64>, tensor<5x1xi64>) -> tensor<5x3xf64>
  return %0 : tensor<5x3xf64>
}
