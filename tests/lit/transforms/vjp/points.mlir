// RUN: qb-opt %s --qb-vjp | filecheck %s

// Reverse mode of reads and writes at index arrays. Indices have no derivative.

// Cotangents add up where they were read; those of a clamped index at the element that it read.
// CHECK-LABEL: func.func @gather_nd(
// CHECK: [[R:%.+]] = "qb.gather_nd"(%arg0, %arg1)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<4x3xf64>}
// CHECK: [[C:%.+]] = "qb.scatter_nd_add"([[Z]], %arg1, %arg2) {axes = array<i64: 0>, outside = "clamp", unique = false}
// CHECK: return [[R]], [[C]]
func.func @gather_nd(%x: tensor<4x3xf64>, %i: tensor<5x1xi64>) -> tensor<5x3xf64> {
  %0 = "qb.gather_nd"(%x, %i) {axes = array<i64: 0>, outside = "clamp"} : (tensor<4x3xf64>, tensor<5x1xi64>) -> tensor<5x3xf64>
  return %0 : tensor<5x3xf64>
}

// What is dropped reads zero.
// CHECK-LABEL: func.func @scatter_nd_add(
// CHECK: [[R:%.+]] = "qb.scatter_nd_add"(%arg0, %arg1, %arg2)
// CHECK: [[C:%.+]] = "qb.gather_nd"(%arg3, %arg1) {axes = array<i64: 0>, outside = "drop"}
// CHECK: return [[R]], %arg3, [[C]]
func.func @scatter_nd_add(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_add"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// What is replaced gets nothing; of the updates of a point only the last gets something.
// CHECK-LABEL: func.func @scatter_nd_set(
// CHECK: [[R:%.+]] = "qb.scatter_nd_set"(%arg0, %arg1, %arg2)
// CHECK: [[CX:%.+]] = "qb.scatter_nd_set"(%arg3, %arg1, %{{.+}})
// CHECK: [[C:%.+]] = "qb.gather_nd"(%arg3, %arg1) {axes = array<i64: 0>, outside = "drop"}
// CHECK: [[N:%.+]] = "qb.constant"() {value = dense<[0, 1, 2, 3, 4]> : tensor<5xi64>}
// CHECK: [[LAST:%.+]] = "qb.scatter_nd_max"(%{{.+}}, %arg1, [[N]])
// CHECK: [[MINE:%.+]] = "qb.gather_nd"([[LAST]], %arg1)
// CHECK: [[W:%.+]] = "qb.compare"([[MINE]], [[N]]) {kind = "equal"}
// CHECK: [[CU:%.+]] = "qb.where"([[W]], [[C]], %{{.+}})
// CHECK: return [[R]], [[CX]], [[CU]]
func.func @scatter_nd_set(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_set"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// Where no point is repeated every update is the last.
// CHECK-LABEL: func.func @unique_set(
// CHECK: [[R:%.+]] = "qb.scatter_nd_set"(%arg0, %arg1, %arg2)
// CHECK: [[CX:%.+]] = "qb.scatter_nd_set"(%arg3, %arg1, %{{.+}}) {{.*}}unique = true
// CHECK: [[C:%.+]] = "qb.gather_nd"(%arg3, %arg1) {axes = array<i64: 0>, outside = "drop"}
// CHECK: return [[R]], [[CX]], [[C]]
func.func @unique_set(%x: tensor<4xf64>, %i: tensor<2x1xi64>, %u: tensor<2xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_set"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = true} : (tensor<4xf64>, tensor<2x1xi64>, tensor<2xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// All that attain the maximum share the cotangent.
// CHECK-LABEL: func.func @scatter_nd_max(
// CHECK: [[R:%.+]] = "qb.scatter_nd_max"(%arg0, %arg1, %arg2)
// CHECK: [[KEPT:%.+]] = "qb.compare"(%arg0, [[R]]) {kind = "equal"}
// CHECK: [[K:%.+]] = "qb.where"(%{{.+}}, [[KEPT]], %{{.+}})
// CHECK: [[G:%.+]] = "qb.gather_nd"([[R]], %arg1)
// CHECK: [[TAKEN:%.+]] = "qb.compare"(%arg2, [[G]]) {kind = "equal"}
// CHECK: [[COUNT:%.+]] = "qb.scatter_nd_add"(%{{.+}}, %arg1, %{{.+}})
// CHECK: [[C:%.+]] = "qb.div"(%arg3, [[COUNT]])
// CHECK: [[GC:%.+]] = "qb.gather_nd"([[C]], %arg1) {{.*}}outside = "drop"
// CHECK: [[CU:%.+]] = "qb.where"([[TAKEN]], [[GC]], %{{.+}})
// CHECK: [[CX:%.+]] = "qb.where"([[K]], [[C]], %{{.+}})
// CHECK: return [[R]], [[CX]], [[CU]]
func.func @scatter_nd_max(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_max"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// The same of the minimum.
// CHECK-LABEL: func.func @scatter_nd_min(
// CHECK: [[R:%.+]] = "qb.scatter_nd_min"(%arg0, %arg1, %arg2)
// CHECK: [[KEPT:%.+]] = "qb.compare"(%arg0, [[R]]) {kind = "equal"}
// CHECK: [[K:%.+]] = "qb.where"(%{{.+}}, [[KEPT]], %{{.+}})
// CHECK: [[G:%.+]] = "qb.gather_nd"([[R]], %arg1)
// CHECK: [[TAKEN:%.+]] = "qb.compare"(%arg2, [[G]]) {kind = "equal"}
// CHECK: [[COUNT:%.+]] = "qb.scatter_nd_add"(%{{.+}}, %arg1, %{{.+}})
// CHECK: [[C:%.+]] = "qb.div"(%arg3, [[COUNT]])
// CHECK: [[GC:%.+]] = "qb.gather_nd"([[C]], %arg1) {{.*}}outside = "drop"
// CHECK: [[CU:%.+]] = "qb.where"([[TAKEN]], [[GC]], %{{.+}})
// CHECK: [[CX:%.+]] = "qb.where"([[K]], [[C]], %{{.+}})
// CHECK: return [[R]], [[CX]], [[CU]]
func.func @scatter_nd_min(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_min"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
