// RUN: qb-opt %s --qb-jvp=wrt=0 | filecheck %s

// Forward mode of reads and writes at index arrays, along the array.

// A read is linear.
// CHECK-LABEL: func.func @gather_nd(
// CHECK: [[R:%.+]] = "qb.gather_nd"(%arg0, %arg1)
// CHECK: [[T:%.+]] = "qb.gather_nd"(%arg2, %arg1) {axes = array<i64: 0>, outside = "clamp"}
// CHECK: return [[R]], [[T]]
func.func @gather_nd(%x: tensor<4x3xf64>, %i: tensor<5x1xi64>) -> tensor<5x3xf64> {
  %0 = "qb.gather_nd"(%x, %i) {axes = array<i64: 0>, outside = "clamp"} : (tensor<4x3xf64>, tensor<5x1xi64>) -> tensor<5x3xf64>
  return %0 : tensor<5x3xf64>
}

// So is an addition; the updates do not move.
// CHECK-LABEL: func.func @scatter_nd_add(
// CHECK: [[R:%.+]] = "qb.scatter_nd_add"(%arg0, %arg1, %arg2)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<5xf64>}
// CHECK: [[T:%.+]] = "qb.scatter_nd_add"(%arg3, %arg1, [[Z]])
// CHECK: return [[R]], [[T]]
func.func @scatter_nd_add(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_add"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// What is replaced does not move.
// CHECK-LABEL: func.func @scatter_nd_set(
// CHECK: [[R:%.+]] = "qb.scatter_nd_set"(%arg0, %arg1, %arg2)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<5xf64>}
// CHECK: [[T:%.+]] = "qb.scatter_nd_set"(%arg3, %arg1, [[Z]])
// CHECK: return [[R]], [[T]]
func.func @scatter_nd_set(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_set"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// The mean of the tangents of all that attain the maximum; the updates count, and have none.
// CHECK-LABEL: func.func @scatter_nd_max(
// CHECK: [[R:%.+]] = "qb.scatter_nd_max"(%arg0, %arg1, %arg2)
// CHECK: [[KEPT:%.+]] = "qb.compare"(%arg0, [[R]]) {kind = "equal"}
// CHECK: [[K:%.+]] = "qb.where"(%{{.+}}, [[KEPT]], %{{.+}})
// CHECK: [[G:%.+]] = "qb.gather_nd"([[R]], %arg1) {{.*}}outside = "drop"
// CHECK: [[TAKEN:%.+]] = "qb.compare"(%arg2, [[G]]) {kind = "equal"}
// CHECK: [[DX:%.+]] = "qb.where"([[K]], %arg3, %{{.+}})
// CHECK: [[SUM:%.+]] = "qb.scatter_nd_add"([[DX]], %arg1, %{{.+}})
// CHECK: [[A:%.+]] = "qb.cast"([[K]])
// CHECK: [[B:%.+]] = "qb.cast"([[TAKEN]])
// CHECK: [[COUNT:%.+]] = "qb.scatter_nd_add"([[A]], %arg1, [[B]])
// CHECK: [[T:%.+]] = "qb.div"([[SUM]], [[COUNT]])
// CHECK: return [[R]], [[T]]
func.func @scatter_nd_max(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_max"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// The same of the minimum.
// CHECK-LABEL: func.func @scatter_nd_min(
// CHECK: [[R:%.+]] = "qb.scatter_nd_min"(%arg0, %arg1, %arg2)
// CHECK: [[KEPT:%.+]] = "qb.compare"(%arg0, [[R]]) {kind = "equal"}
// CHECK: [[K:%.+]] = "qb.where"(%{{.+}}, [[KEPT]], %{{.+}})
// CHECK: [[G:%.+]] = "qb.gather_nd"([[R]], %arg1) {{.*}}outside = "drop"
// CHECK: [[TAKEN:%.+]] = "qb.compare"(%arg2, [[G]]) {kind = "equal"}
// CHECK: [[DX:%.+]] = "qb.where"([[K]], %arg3, %{{.+}})
// CHECK: [[SUM:%.+]] = "qb.scatter_nd_add"([[DX]], %arg1, %{{.+}})
// CHECK: [[A:%.+]] = "qb.cast"([[K]])
// CHECK: [[B:%.+]] = "qb.cast"([[TAKEN]])
// CHECK: [[COUNT:%.+]] = "qb.scatter_nd_add"([[A]], %arg1, [[B]])
// CHECK: [[T:%.+]] = "qb.div"([[SUM]], [[COUNT]])
// CHECK: return [[R]], [[T]]
func.func @scatter_nd_min(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_min"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
