// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s

// Reads and writes at index arrays, order along an axis, and integers.

// A negative index counts from the end; StableHLO's gather clamps by itself.
// CHECK-LABEL: func.func public @read(
// CHECK: [[NEGATIVE:%.+]] = stablehlo.compare LT, %arg1,
// CHECK: [[END:%.+]] = stablehlo.add %arg1,
// CHECK: [[I:%.+]] = stablehlo.select [[NEGATIVE]], [[END]], %arg1
// CHECK: [[R:%.+]] = "stablehlo.gather"(%arg0, [[I]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
// CHECK: return [[R]]
func.func @read(%x: tensor<4x3xf64>, %i: tensor<5x1xi64>) -> tensor<5x3xf64> {
  %0 = "qb.gather_nd"(%x, %i) {axes = array<i64: 0>, outside = "clamp"} : (tensor<4x3xf64>, tensor<5x1xi64>) -> tensor<5x3xf64>
  return %0 : tensor<5x3xf64>
}

// CHECK-LABEL: func.func public @read_or_zero(
// CHECK: [[R:%.+]] = "stablehlo.gather"
// CHECK: [[INSIDE:%.+]] = stablehlo.and
// CHECK: stablehlo.reduce([[INSIDE]]
// CHECK: stablehlo.select %{{.+}}, [[R]],
func.func @read_or_zero(%x: tensor<4xf64>, %i: tensor<5x1xi64>) -> tensor<5xf64> {
  %0 = "qb.gather_nd"(%x, %i) {axes = array<i64: 0>, outside = "drop"} : (tensor<4xf64>, tensor<5x1xi64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// Indices that are known to be in range need no check.
// CHECK-LABEL: func.func public @read_known(
// CHECK-NOT: stablehlo.compare
// CHECK: "stablehlo.gather"(%arg0,
func.func @read_known(%x: tensor<4xf64>) -> tensor<2xf64> {
  %i = "qb.constant"() {value = dense<[[3], [0]]> : tensor<2x1xi64>} : () -> tensor<2x1xi64>
  %0 = "qb.gather_nd"(%x, %i) {axes = array<i64: 0>, outside = "drop"} : (tensor<4xf64>, tensor<2x1xi64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func public @add(
// CHECK: "stablehlo.scatter"(%arg0, %{{.+}}, %arg2) <{{.*}}unique_indices = false
// CHECK: stablehlo.add
func.func @add(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_add"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// The last of repeated writes wins on every target: the others are moved out of range, where they are dropped.
// CHECK-LABEL: func.func public @set(
// CHECK: [[BOARD:%.+]] = "stablehlo.scatter"(
// CHECK: stablehlo.maximum
// CHECK: [[LAST:%.+]] = "stablehlo.gather"([[BOARD]],
// CHECK: stablehlo.compare EQ, [[LAST]],
// CHECK: [[I:%.+]] = stablehlo.select
// CHECK: "stablehlo.scatter"(%arg0, [[I]], %arg2) <{{.*}}unique_indices = true
func.func @set(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_set"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @set_unique(
// CHECK-COUNT-1: "stablehlo.scatter"(%arg0, %{{.+}}, %arg2) <{{.*}}unique_indices = true
func.func @set_unique(%x: tensor<4xf64>, %i: tensor<2x1xi64>, %u: tensor<2xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_set"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = true} : (tensor<4xf64>, tensor<2x1xi64>, tensor<2xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// A number comes before NaN.
// CHECK-LABEL: func.func public @sort(
// CHECK: "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}>
// CHECK: ^bb0([[A:%.+]]: tensor<f64>, [[B:%.+]]: tensor<f64>):
// CHECK: [[LESS:%.+]] = stablehlo.compare LT, [[A]], [[B]]
// CHECK: [[NUMBER:%.+]] = stablehlo.compare EQ, [[A]], [[A]]
// CHECK: [[NAN:%.+]] = stablehlo.compare NE, [[B]], [[B]]
// CHECK: [[LAST:%.+]] = stablehlo.and [[NUMBER]], [[NAN]]
// CHECK: [[BEFORE:%.+]] = stablehlo.or [[LESS]], [[LAST]]
// CHECK: stablehlo.return [[BEFORE]]
func.func @sort(%x: tensor<5xf64>) -> tensor<5xf64> {
  %0 = "qb.sort"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// CHECK-LABEL: func.func public @argsort(
// CHECK: [[N:%.+]] = stablehlo.iota dim = 0 : tensor<5xi64>
// CHECK: [[R:%.+]]:2 = "stablehlo.sort"(%arg0, [[N]])
// CHECK: return [[R]]#1
func.func @argsort(%x: tensor<5xi32>) -> tensor<5xi64> {
  %0 = "qb.argsort"(%x) {axis = 0 : i64} : (tensor<5xi32>) -> tensor<5xi64>
  return %0 : tensor<5xi64>
}

// The quotients by 0 and -1 never reach the division.
// CHECK-LABEL: func.func public @floor_divide(
// CHECK-DAG: [[ZERO:%.+]] = stablehlo.compare EQ, %arg1, %{{.+}}
// CHECK: [[Y:%.+]] = stablehlo.select %{{.+}}, %{{.+}}, %arg1
// CHECK: stablehlo.divide %arg0, [[Y]] : tensor<3xi64>
func.func @floor_divide(%x: tensor<3xi64>, %y: tensor<3xi64>) -> tensor<3xi64> {
  %0 = "qb.floor_divide"(%x, %y) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// Sums of integers are integers, and the maximum of none would be the least of them.
// CHECK-LABEL: func.func public @max(
// CHECK: stablehlo.constant dense<-2147483648> : tensor<i32>
// CHECK: stablehlo.reduce(%arg0
// CHECK-SAME: applies stablehlo.maximum
func.func @max(%x: tensor<3xi32>) -> tensor<i32> {
  %0 = "qb.max"(%x) {axis = array<i64: 0>} : (tensor<3xi32>) -> tensor<i32>
  return %0 : tensor<i32>
}

// CHECK-LABEL: func.func public @scatter_max(
// CHECK: "stablehlo.scatter"(%arg0, %{{.+}}, %arg2)
// CHECK: stablehlo.maximum
func.func @scatter_max(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_max"(%x, %i, %u) {axes = array<i64: 0>, outside = "drop", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// A write that clamps does so before StableHLO's scatter, which would drop it.
// CHECK-LABEL: func.func public @scatter_min(
// CHECK: [[I:%.+]] = stablehlo.clamp
// CHECK: "stablehlo.scatter"(%arg0, [[I]], %arg2)
// CHECK: stablehlo.minimum
func.func @scatter_min(%x: tensor<4xf64>, %i: tensor<5x1xi64>, %u: tensor<5xf64>) -> tensor<4xf64> {
  %0 = "qb.scatter_nd_min"(%x, %i, %u) {axes = array<i64: 0>, outside = "clamp", unique = false} : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// The least position at which the maximum stands, or NaN.
// CHECK-LABEL: func.func public @argmax(
// CHECK: stablehlo.reduce(%arg0
// CHECK-SAME: applies stablehlo.maximum
// CHECK: stablehlo.compare EQ, %arg0,
// CHECK: stablehlo.compare NE, %arg0, %arg0
// CHECK: [[AT:%.+]] = stablehlo.select
// CHECK: stablehlo.reduce([[AT]]
// CHECK-SAME: applies stablehlo.minimum
func.func @argmax(%x: tensor<5xf64>) -> tensor<i64> {
  %0 = "qb.argmax"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<i64>
  return %0 : tensor<i64>
}

// CHECK-LABEL: func.func public @argmin(
// CHECK: stablehlo.reduce(%arg0
// CHECK-SAME: applies stablehlo.minimum
// CHECK-NOT: stablehlo.compare NE
// CHECK: return
func.func @argmin(%x: tensor<5xi64>) -> tensor<i64> {
  %0 = "qb.argmin"(%x) {axis = 0 : i64} : (tensor<5xi64>) -> tensor<i64>
  return %0 : tensor<i64>
}

// Three elements have four places, which two questions tell apart.
// CHECK-LABEL: func.func public @searchsorted(
// CHECK-COUNT-2: "stablehlo.gather"(%arg0,
// CHECK-NOT: "stablehlo.gather"
// CHECK: return
func.func @searchsorted(%a: tensor<3xf64>, %v: tensor<2xf64>) -> tensor<2xi64> {
  %0 = "qb.searchsorted"(%a, %v) {side = "left"} : (tensor<3xf64>, tensor<2xf64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// CHECK-LABEL: func.func public @cumprod(
// CHECK: "stablehlo.reduce_window"(%arg0, %{{.+}}) <{padding = dense<{{\[\[}}3, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}>
// CHECK: stablehlo.multiply
func.func @cumprod(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.cumprod"(%x) {axis = 0 : i64} : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
