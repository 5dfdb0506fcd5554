// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s
// RUN: qb-opt %s --convert-qb-to-stablehlo --stablehlo-exact-f32 | filecheck %s --check-prefix=WIDE
// Loops, choices and the ops of their bodies. What a region captures it uses from outside.

// The counter of a loop is a 64-bit integer, and a float only if the body computes with it.
// CHECK-LABEL: func.func public @loop(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64> {{.*}}, %[[Y:.*]]: tensor<4xf64>
// CHECK: %[[FIRST:.*]] = stablehlo.constant dense<2> : tensor<i64>
// CHECK: %[[R:.*]]:2 = stablehlo.while(%[[I:.*]] = %[[FIRST]], %[[C:.*]] = %[[X]]) : tensor<i64>, tensor<4xf64>
// CHECK: %[[LAST:.*]] = stablehlo.constant dense<7> : tensor<i64>
// CHECK: %[[GO:.*]] = stablehlo.compare LT, %[[I]], %[[LAST]]
// CHECK: stablehlo.return %[[GO]] : tensor<i1>
// CHECK-NOT: stablehlo.convert
// CHECK: %[[NEXT:.*]] = stablehlo.add %[[I]], %{{.*}} : tensor<i64>
// CHECK: %[[P:.*]] = stablehlo.multiply %[[C]], %[[Y]] : tensor<4xf64>
// CHECK: stablehlo.return %[[NEXT]], %[[P]]
// CHECK: return %[[R]]#1
func.func @loop(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %lower = arith.constant 2 : index
  %upper = arith.constant 7 : index
  %one = arith.constant 1 : index
  %0 = scf.for %iv = %lower to %upper step %one iter_args(%c = %x) -> (tensor<4xf64>) {
    %1 = "qb.mul"(%c, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    scf.yield %1 : tensor<4xf64>
  }
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @counter(
// CHECK: stablehlo.while(%[[I:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}})
// CHECK: do {
// CHECK: %[[F:.*]] = stablehlo.convert %[[I]] : (tensor<i64>) -> tensor<f64>
// CHECK: stablehlo.multiply %[[C]], %[[F]] : tensor<f64>
func.func @counter(%x: tensor<f64>) -> tensor<f64> {
  %lower = arith.constant 0 : index
  %upper = arith.constant 3 : index
  %one = arith.constant 1 : index
  %0 = scf.for %iv = %lower to %upper step %one iter_args(%c = %x) -> (tensor<f64>) {
    %i = "qb.index"(%iv) : (index) -> tensor<f64>
    %1 = "qb.mul"(%c, %i) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    scf.yield %1 : tensor<f64>
  }
  return %0 : tensor<f64>
}

// Rows at what is computed from the counter are found with integers.
// CHECK-LABEL: func.func public @rows(
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf64>
// CHECK: stablehlo.while(%[[I:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}}) :
// CHECK: do {
// CHECK-NOT: stablehlo.convert
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK: %[[ROW:.*]] = stablehlo.dynamic_slice %[[X]], %[[I]], %[[ZERO]], sizes = [1, 3]
// CHECK: %[[V:.*]] = stablehlo.reshape %[[ROW]] : (tensor<1x3xf64>) -> tensor<3xf64>
// CHECK: %[[THREE:.*]] = stablehlo.constant dense<3> : tensor<i64>
// CHECK: %[[BACK:.*]] = stablehlo.subtract %[[THREE]], %[[I]] : tensor<i64>
// CHECK: %[[PIECE:.*]] = stablehlo.reshape %[[V]] : (tensor<3xf64>) -> tensor<1x3xf64>
// CHECK: stablehlo.dynamic_update_slice %[[C]], %[[PIECE]], %[[BACK]], %[[ZERO]]
func.func @rows(%x: tensor<4x3xf64>) -> tensor<4x3xf64> {
  %lower = arith.constant 0 : index
  %upper = arith.constant 4 : index
  %one = arith.constant 1 : index
  %0 = scf.for %iv = %lower to %upper step %one iter_args(%c = %x) -> (tensor<4x3xf64>) {
    %i = "qb.index"(%iv) : (index) -> tensor<f64>
    %1 = "qb.take"(%x, %i) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<f64>) -> tensor<3xf64>
    %2 = "qb.constant"() {value = dense<3.0> : tensor<f64>} : () -> tensor<f64>
    %3 = "qb.sub"(%2, %i) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %4 = "qb.put"(%c, %1, %3) {axis = 0 : i64} : (tensor<4x3xf64>, tensor<3xf64>, tensor<f64>) -> tensor<4x3xf64>
    scf.yield %4 : tensor<4x3xf64>
  }
  return %0 : tensor<4x3xf64>
}

// Any other index is wrapped, made a number and bounded before it is converted.
// CHECK-LABEL: func.func public @add_at(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32> {{.*}}, %[[V:.*]]: tensor<2xf32> {{.*}}, %[[I:.*]]: tensor<f32>
// CHECK: %[[D:.*]] = stablehlo.convert %[[I]] : (tensor<f32>) -> tensor<f64>
// CHECK: %[[MORE:.*]] = stablehlo.add %[[D]], %{{.*}} : tensor<f64>
// CHECK: %[[BELOW:.*]] = stablehlo.compare LT, %[[D]]
// CHECK: %[[WRAPPED:.*]] = stablehlo.select %[[BELOW]], %[[MORE]], %[[D]]
// CHECK: %[[ABOVE:.*]] = stablehlo.compare GT, %[[WRAPPED]]
// CHECK: %[[SOME:.*]] = stablehlo.select %[[ABOVE]], %[[WRAPPED]]
// CHECK: %[[ROW:.*]] = stablehlo.minimum %[[SOME]]
// CHECK: %[[N:.*]] = stablehlo.convert %[[ROW]] : (tensor<f64>) -> tensor<i64>
// CHECK: %[[WAS:.*]] = stablehlo.dynamic_slice %[[X]], %{{.*}}, %[[N]], sizes = [2, 1]
// CHECK: %[[SUM:.*]] = stablehlo.add %[[WAS]], %{{.*}} : tensor<2x1xf32>
// CHECK: stablehlo.dynamic_update_slice %[[X]], %[[SUM]], %{{.*}}, %[[N]]
func.func @add_at(%x: tensor<2x4xf32>, %v: tensor<2xf32>, %i: tensor<f32>) -> tensor<2x4xf32> {
  %0 = "qb.add_at"(%x, %v, %i) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// Arguments of regions stay float32; functions are widened where they are.
// CHECK-LABEL: func.func public @until(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK: %[[R:.*]] = stablehlo.while(%[[C:.*]] = %[[X]]) : tensor<4xf32>
// CHECK: stablehlo.reduce(%[[C]]
// CHECK: stablehlo.return %{{.*}} : tensor<i1>
// CHECK: do {
// CHECK: stablehlo.sine %[[C]] : tensor<4xf32>
// CHECK: return %[[R]]
// WIDE-LABEL: func.func public @until(
// WIDE: stablehlo.while(%[[C:.*]] = %{{.*}}) : tensor<4xf32>
// WIDE: do {
// WIDE: %[[D:.*]] = stablehlo.convert %[[C]] : (tensor<4xf32>) -> tensor<4xf64>
// WIDE: %[[S:.*]] = stablehlo.sine %[[D]] : tensor<4xf64>
// WIDE: %[[N:.*]] = stablehlo.convert %[[S]] : (tensor<4xf64>) -> tensor<4xf32>
// WIDE: stablehlo.add %[[C]], %[[N]] : tensor<4xf32>
func.func @until(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.while (%c = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = "qb.max"(%c) {axis = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %2 = "qb.constant"() {value = dense<9.0> : tensor<f32>} : () -> tensor<f32>
    %3 = "qb.compare"(%1, %2) {kind = "less"} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = tensor.extract %3[] : tensor<i1>
    scf.condition(%4) %c : tensor<4xf32>
  } do {
  ^bb0(%c: tensor<4xf32>):
    %1 = "qb.sin"(%c) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "qb.add"(%c, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func public @choice(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64> {{.*}}, %[[P:.*]]: tensor<i1>
// CHECK: %[[R:.*]] = "stablehlo.if"(%[[P]]) ({
// CHECK: %[[S:.*]] = stablehlo.sine %[[X]] : tensor<4xf64>
// CHECK: stablehlo.return %[[S]]
// CHECK: }, {
// CHECK: stablehlo.return %[[X]]
// CHECK: return %[[R]]
func.func @choice(%x: tensor<4xf64>, %p: tensor<i1>) -> tensor<4xf64> {
  %0 = tensor.extract %p[] : tensor<i1>
  %1 = scf.if %0 -> (tensor<4xf64>) {
    %2 = "qb.sin"(%x) : (tensor<4xf64>) -> tensor<4xf64>
    scf.yield %2 : tensor<4xf64>
  } else {
    scf.yield %x : tensor<4xf64>
  }
  return %1 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @barrier(
// CHECK: stablehlo.optimization_barrier {qb.id = 3 : i64} %{{.*}} : tensor<4xf64>
func.func @barrier(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.barrier"(%x) {id = 3 : i64} : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
