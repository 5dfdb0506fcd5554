// RUN: qb-opt %s --qb-jvp=wrt=0 | filecheck %s

// Forward mode of ops on rows at an index: they are linear in the array.

// CHECK-LABEL: func.func @take(
// CHECK: [[R:%.+]] = "qb.take"(%arg0, %arg1)
// CHECK: [[T:%.+]] = "qb.take"(%arg2, %arg1)
// CHECK: return [[R]], [[T]]
func.func @take(%x: tensor<4x3xf64>, %i: tensor<f64>) -> tensor<3xf64> {
  %0 = "qb.take"(%x, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<f64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// The new row does not move, so the tangent has zeros there.
// CHECK-LABEL: func.func @put(
// CHECK: [[R:%.+]] = "qb.put"(%arg0, %arg1, %arg2)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: [[T:%.+]] = "qb.put"(%arg3, [[Z]], %arg2)
// CHECK: return [[R]], [[T]]
func.func @put(%x: tensor<4x3xf64>, %r: tensor<3xf64>, %i: tensor<f64>) -> tensor<4x3xf64> {
  %0 = "qb.put"(%x, %r, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<3xf64>, tensor<f64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}

// CHECK-LABEL: func.func @add_at(
// CHECK: [[R:%.+]] = "qb.add_at"(%arg0, %arg1, %arg2)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: [[T:%.+]] = "qb.add_at"(%arg3, [[Z]], %arg2)
// CHECK: return [[R]], [[T]]
func.func @add_at(%x: tensor<4x3xf64>, %r: tensor<3xf64>, %i: tensor<f64>) -> tensor<4x3xf64> {
  %0 = "qb.add_at"(%x, %r, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<3xf64>, tensor<f64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}

// CHECK-LABEL: func.func @barrier(
// CHECK: [[R:%.+]] = "qb.barrier"(%arg0)
// CHECK: [[T:%.+]] = "qb.barrier"(%arg1)
// CHECK: return [[R]], [[T]]
func.func @barrier(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.barrier"(%x) {id = 0 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
