// RUN: qb-opt %s --qb-vjp | filecheck %s

// Reverse mode of ops on rows at an index; the index itself has no derivative.

// The cotangent goes to the row that was taken.
// CHECK-LABEL: func.func @take(
// CHECK: [[R:%.+]] = "qb.take"(%arg0, %arg1)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<4x3xf64>}
// CHECK: [[C:%.+]] = "qb.add_at"([[Z]], %arg2, %arg1)
// CHECK: return [[R]], [[C]], %{{.+}}
func.func @take(%x: tensor<4x3xf64>, %i: tensor<f64>) -> tensor<3xf64> {
  %0 = "qb.take"(%x, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<f64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// What was written over gets nothing, and the row what stands in its place.
// CHECK-LABEL: func.func @put(
// CHECK: [[R:%.+]] = "qb.put"(%arg0, %arg1, %arg2)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: [[X:%.+]] = "qb.put"(%arg3, [[Z]], %arg2)
// CHECK: [[V:%.+]] = "qb.take"(%arg3, %arg2)
// CHECK: return [[R]], [[X]], [[V]], %{{.+}}
func.func @put(%x: tensor<4x3xf64>, %r: tensor<3xf64>, %i: tensor<f64>) -> tensor<4x3xf64> {
  %0 = "qb.put"(%x, %r, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<3xf64>, tensor<f64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}

// CHECK-LABEL: func.func @add_at(
// CHECK: [[R:%.+]] = "qb.add_at"(%arg0, %arg1, %arg2)
// CHECK: [[V:%.+]] = "qb.take"(%arg3, %arg2)
// CHECK: return [[R]], %arg3, [[V]], %{{.+}}
func.func @add_at(%x: tensor<4x3xf64>, %r: tensor<3xf64>, %i: tensor<f64>) -> tensor<4x3xf64> {
  %0 = "qb.add_at"(%x, %r, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<3xf64>, tensor<f64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}

// CHECK-LABEL: func.func @barrier(
// CHECK: [[R:%.+]] = "qb.barrier"(%arg0)
// CHECK: return [[R]], %arg1
func.func @barrier(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.barrier"(%x) {id = 0 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
