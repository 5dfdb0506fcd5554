// RUN: qb-opt %s --qb-vmap=size=2 | filecheck %s

// Each example has an index of its own, so its row is chosen by comparison.

// CHECK-LABEL: func.func @take(
// CHECK: [[ROW:%.+]] = "qb.compare"(%{{.+}}, %{{.+}}) {kind = "equal"} : {{.*}} -> tensor<2x4x1xi1>
// CHECK: [[ONE:%.+]] = "qb.where"([[ROW]], %arg0, %{{.+}})
// CHECK: [[R:%.+]] = "qb.sum"([[ONE]]) {axis = array<i64: 1>}
// CHECK: return [[R]] : tensor<2x3xf64>
func.func @take(%x: tensor<4x3xf64>, %i: tensor<f64>) -> tensor<3xf64> {
  %0 = "qb.take"(%x, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<f64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @put(
// CHECK: [[ROW:%.+]] = "qb.compare"(%{{.+}}, %{{.+}}) {kind = "equal"} : {{.*}} -> tensor<2x4x1xi1>
// CHECK: [[V:%.+]] = "qb.broadcast"(%{{.+}}) : (tensor<2x1x3xf64>) -> tensor<2x4x3xf64>
// CHECK: [[R:%.+]] = "qb.where"([[ROW]], [[V]], %arg0)
// CHECK: return [[R]]
func.func @put(%x: tensor<4x3xf64>, %r: tensor<3xf64>, %i: tensor<f64>) -> tensor<4x3xf64> {
  %0 = "qb.put"(%x, %r, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<3xf64>, tensor<f64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}

// CHECK-LABEL: func.func @add_at(
// CHECK: [[ROW:%.+]] = "qb.compare"(%{{.+}}, %{{.+}}) {kind = "equal"} : {{.*}} -> tensor<2x4x1xi1>
// CHECK: [[V:%.+]] = "qb.broadcast"(%{{.+}}) : (tensor<2x1x3xf64>) -> tensor<2x4x3xf64>
// CHECK: [[A:%.+]] = "qb.add"(%arg0, [[V]])
// CHECK: [[R:%.+]] = "qb.where"([[ROW]], [[A]], %arg0)
// CHECK: return [[R]]
func.func @add_at(%x: tensor<4x3xf64>, %r: tensor<3xf64>, %i: tensor<f64>) -> tensor<4x3xf64> {
  %0 = "qb.add_at"(%x, %r, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<3xf64>, tensor<f64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}

// CHECK-LABEL: func.func @barrier(
// CHECK: [[R:%.+]] = "qb.barrier"(%arg0) {{.*}} : (tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: return [[R]]
func.func @barrier(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.barrier"(%x) {id = 0 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
