// RUN: qb-opt %s --qb-vmap=size=2 | filecheck %s

// The number of the lane becomes one more index, along the mapped axis.

// CHECK-LABEL: func.func @gather_nd(
// CHECK: [[LANE:%.+]] = "qb.constant"() {{.*}}[1], [1], [1], [1], [1]{{.*}} : tensor<2x5x1xi64>
// CHECK: [[I:%.+]] = "qb.concat"([[LANE]], %arg1) {axis = 2 : i64}
// CHECK: [[R:%.+]] = "qb.gather_nd"(%arg0, [[I]]) {axes = array<i64: 0, 1>
// CHECK: return [[R]]
func.func @gather_nd(%x: tensor<4x3xf64>, %i: tensor<5x1xi64>) -> tensor<5x3xf64> {
  %0 = "qb.gather_nd"(%x, %i) {axes = array<i64: 0>, outside = "clamp"} : (tensor<4x3xf64>, tensor<5x1xi64>) -> tensor<5x3xf64>
  return %0 : tensor<5x3xf64>
}

// CHECK-LABEL: func.func @scatter_nd_add(
// CHECK: [[LANE:%.+]] = "qb.constant"() {{.*}}[1], [1], [1], [1], [1]{{.*}} : tensor<2x5x1xi64>
// CHECK: [[I:%.+]] = "qb.concat"([[LANE]], %arg1) {axis = 2 : i64}
// CHECK: [[R:%.+]] = "qb.scatter_nd_add"(%arg0, [[I]], %arg2) {axes = array<i64: 0, 1>
// CHECK: return [[R]]
func.func @scatter_nd_add(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_add"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func @scatter_nd_set(
// CHECK: [[LANE:%.+]] = "qb.constant"() {{.*}}[1], [1], [1], [1], [1]{{.*}} : tensor<2x5x1xi64>
// CHECK: [[I:%.+]] = "qb.concat"([[LANE]], %arg1) {axis = 2 : i64}
// CHECK: [[R:%.+]] = "qb.scatter_nd_set"(%arg0, [[I]], %arg2) {axes = array<i64: 0, 1>
// CHECK: return [[R]]
func.func @scatter_nd_set(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_set"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func @scatter_nd_max(
// CHECK: [[LANE:%.+]] = "qb.constant"() {{.*}}[1], [1], [1], [1], [1]{{.*}} : tensor<2x5x1xi64>
// CHECK: [[I:%.+]] = "qb.concat"([[LANE]], %arg1) {axis = 2 : i64}
// CHECK: [[R:%.+]] = "qb.scatter_nd_max"(%arg0, [[I]], %arg2) {axes = array<i64: 0, 1>
// CHECK: return [[R]]
func.func @scatter_nd_max(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_max"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func @scatter_nd_min(
// CHECK: [[LANE:%.+]] = "qb.constant"() {{.*}}[1], [1], [1], [1], [1]{{.*}} : tensor<2x5x1xi64>
// CHECK: [[I:%.+]] = "qb.concat"([[LANE]], %arg1) {axis = 2 : i64}
// CHECK: [[R:%.+]] = "qb.scatter_nd_min"(%arg0, [[I]], %arg2) {axes = array<i64: 0, 1>
// CHECK: return [[R]]
func.func @scatter_nd_min(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_min"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
