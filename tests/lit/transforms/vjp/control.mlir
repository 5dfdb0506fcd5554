// RUN: qb-opt %s --qb-vjp | filecheck %s

// Reverse mode of loops and choices: the cotangents come last.

// a' = sin(a) w for 5 times. The forward loop keeps every a. The backward loop goes from the last to the first and
// multiplies the cotangent by w cos(a); sin(a) times the cotangent adds up to the cotangent of w.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %arg0: tensor<3xf64> {{.*}}, %arg1: tensor<3xf64> {{.*}}, %arg2: tensor<3xf64>
// CHECK: [[TAPE:%.+]]:2 = scf.for [[IV:%.+]] = %c0 to %c5 step %c1 iter_args([[A:%.+]] = %arg0, [[ROWS:%.+]] = %{{.+}})
// CHECK: [[I:%.+]] = "qb.index"([[IV]])
// CHECK: [[KEPT:%.+]] = "qb.put"([[ROWS]], [[A]], [[I]])
// CHECK: [[S:%.+]] = "qb.sin"([[A]])
// CHECK: [[NEXT:%.+]] = "qb.mul"([[S]], %arg1)
// CHECK: scf.yield [[NEXT]], [[KEPT]]
// CHECK: [[CTS:%.+]]:2 = scf.for [[JV:%.+]] = %c0 to %c5 step %c1 iter_args([[CT:%.+]] = %arg2, [[CW:%.+]] = %{{.+}})
// CHECK: [[J:%.+]] = "qb.index"([[JV]])
// CHECK: [[LAST:%.+]] = "qb.constant"() {value = dense<4.000000e+00> : tensor<f64>}
// CHECK: [[ROW:%.+]] = "qb.sub"([[LAST]], [[J]])
// CHECK: [[OLD:%.+]] = "qb.take"([[TAPE]]#1, [[ROW]])
// CHECK-DAG: [[SIN:%.+]] = "qb.sin"([[OLD]])
// CHECK-DAG: [[COS:%.+]] = "qb.cos"([[OLD]])
// CHECK-DAG: [[CTW:%.+]] = "qb.mul"([[CT]], %arg1)
// CHECK-DAG: [[PART:%.+]] = "qb.mul"([[CT]], [[SIN]])
// CHECK-DAG: [[CX:%.+]] = "qb.mul"([[CTW]], [[COS]])
// CHECK-DAG: [[SUM:%.+]] = "qb.add"([[CW]], [[PART]])
// CHECK: scf.yield [[CX]], [[SUM]]
// CHECK: return [[TAPE]]#0, [[CTS]]#0, [[CTS]]#1
func.func @loop(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x) -> tensor<3xf64> {
    %0 = "qb.sin"(%a) : (tensor<3xf64>) -> tensor<3xf64>
    %1 = "qb.mul"(%0, %w) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    scf.yield %1 : tensor<3xf64>
  }
  return %r : tensor<3xf64>
}

// A linear step reads no carry, so there is no tape: one loop forward, and one backward that multiplies by w.
// CHECK-LABEL: func.func @linear(
// CHECK-NOT: qb.put
// CHECK: scf.for
// CHECK: [[CTS:%.+]] = scf.for %{{.+}} = %c0 to %c5 step %c1 iter_args([[CT:%.+]] = %arg1)
// CHECK-NOT: qb.take
// CHECK: [[TWO:%.+]] = "qb.constant"() {value = dense<2.000000e+00> : tensor<f64>}
// CHECK: [[C:%.+]] = "qb.mul"([[CT]], [[TWO]])
// CHECK: scf.yield [[C]]
// CHECK: return %{{.+}}, [[CTS]]
func.func @linear(%x: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %two = "qb.constant"() {value = dense<2.0> : tensor<f64>} : () -> tensor<f64>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x) -> tensor<3xf64> {
    %0 = "qb.mul"(%a, %two) : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
    scf.yield %0 : tensor<3xf64>
  }
  return %r : tensor<3xf64>
}

// What a loop only collects: the cotangent of row i of the stack is added in iteration i, read where it is. The backward
// loop carries the cotangents of the state and of w, and nothing for the stack.
// CHECK-LABEL: func.func @stack(
// CHECK-SAME: %arg0: tensor<f64> {{.*}}, %arg1: tensor<f64> {{.*}}, %arg2: tensor<4xf64>
// CHECK: [[OUT:%.+]]:3 = scf.for
// CHECK: scf.for [[JV:%.+]] = %c0 to %c4 step %c1 iter_args([[CT:%.+]] = %{{.+}}, [[CW:%.+]] = %{{.+}}) -> (tensor<f64>, tensor<f64>)
// CHECK: [[ROW:%.+]] = "qb.sub"
// CHECK-DAG: [[OLD:%.+]] = "qb.take"([[OUT]]#2, [[ROW]])
// CHECK-DAG: [[PART:%.+]] = "qb.take"(%arg2, [[ROW]])
// CHECK: [[SUM:%.+]] = "qb.add"([[CT]], [[PART]])
// CHECK-DAG: [[CX:%.+]] = "qb.mul"([[SUM]], %arg1)
// CHECK-DAG: [[TERM:%.+]] = "qb.mul"([[SUM]], [[OLD]])
// CHECK: [[TOTAL:%.+]] = "qb.add"([[CW]], [[TERM]])
// CHECK: scf.yield [[CX]], [[TOTAL]]
func.func @stack(%x: tensor<f64>, %w: tensor<f64>) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = "qb.constant"() {value = dense<0.0> : tensor<4xf64>} : () -> tensor<4xf64>
  %a:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %x, %s = %z) -> (tensor<f64>, tensor<4xf64>) {
    %n = "qb.index"(%i) : (index) -> tensor<f64>
    %0 = "qb.mul"(%c, %w) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %1 = "qb.put"(%s, %0, %n) {axis = 0 : i64} : (tensor<4xf64>, tensor<f64>, tensor<f64>) -> tensor<4xf64>
    scf.yield %0, %1 : tensor<f64>, tensor<4xf64>
  }
  return %a#1 : tensor<4xf64>
}

// The cotangent goes through the branch that was taken: cos(x) or exp(x) times the cotangent.
// CHECK-LABEL: func.func @choice(
// CHECK: [[R:%.+]] = scf.if
// CHECK: [[CX:%.+]] = scf.if %{{.+}} -> (tensor<3xf64>) {
// CHECK: [[COS:%.+]] = "qb.cos"(%arg1)
// CHECK: [[T:%.+]] = "qb.mul"(%arg2, [[COS]])
// CHECK: scf.yield [[T]]
// CHECK: } else {
// CHECK: [[EXP:%.+]] = "qb.exp"(%arg1)
// CHECK: [[F:%.+]] = "qb.mul"(%arg2, [[EXP]])
// CHECK: scf.yield [[F]]
// CHECK: return [[R]], [[CX]]
func.func @choice(%p: tensor<i1>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %q = tensor.extract %p[] : tensor<i1>
  %r = scf.if %q -> tensor<3xf64> {
    %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
    scf.yield %0 : tensor<3xf64>
  } else {
    %0 = "qb.exp"(%x) : (tensor<3xf64>) -> tensor<3xf64>
    scf.yield %0 : tensor<3xf64>
  }
  return %r : tensor<3xf64>
}

// a' = a a while a is below w, seven times at most. The forward loop keeps every a and counts; the backward loop runs as
// often and multiplies the cotangent by 2 a, as the product's rule has it once for each factor. w only decides, so its
// cotangent is 0.
// CHECK-LABEL: func.func @bounded(
// CHECK-SAME: %arg0: tensor<f64> {{.*}}, %arg1: tensor<f64> {{.*}}, %arg2: tensor<f64>
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: [[KEPT:%.+]]:3 = scf.while ([[A:%.+]] = %arg0, [[ROWS:%.+]] = %{{.+}}, [[N:%.+]] = %{{.+}})
// CHECK: [[L:%.+]] = "qb.compare"([[A]], %arg1) {kind = "less"}
// CHECK: ^bb0([[B:%.+]]: tensor<f64>, [[TAPE:%.+]]: tensor<7xf64>, [[I:%.+]]: tensor<f64>):
// CHECK-DAG: [[ROW:%.+]] = "qb.put"([[TAPE]], [[B]], [[I]])
// CHECK-DAG: [[SQUARE:%.+]] = "qb.mul"([[B]], [[B]])
// CHECK-DAG: [[MORE:%.+]] = "qb.add"([[I]], %{{.+}})
// CHECK: scf.yield [[SQUARE]], [[ROW]], [[MORE]]
// CHECK: attributes {qb.bound = 7 : index}
// CHECK: [[CTS:%.+]]:2 = scf.while ([[CT:%.+]] = %arg2, [[K:%.+]] = [[KEPT]]#2)
// CHECK: "qb.compare"([[K]], %{{.+}}) {kind = "greater"}
// CHECK: ^bb0([[C:%.+]]: tensor<f64>, [[M:%.+]]: tensor<f64>):
// CHECK: [[LAST:%.+]] = "qb.sub"([[M]], %{{.+}})
// CHECK: [[OLD:%.+]] = "qb.take"([[KEPT]]#1, [[LAST]])
// CHECK: [[PART:%.+]] = "qb.mul"([[C]], [[OLD]])
// CHECK: [[SUM:%.+]] = "qb.add"([[PART]], [[PART]])
// CHECK: scf.yield [[SUM]], [[LAST]]
// CHECK: attributes {qb.bound = 7 : index}
// CHECK: return [[KEPT]]#0, [[CTS]]#0, [[ZERO]]
func.func @bounded(%x: tensor<f64>, %w: tensor<f64>) -> tensor<f64> {
  %r = scf.while (%a = %x) : (tensor<f64>) -> tensor<f64> {
    %0 = "qb.compare"(%a, %w) {kind = "less"} : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %q = tensor.extract %0[] : tensor<i1>
    scf.condition(%q) %a : tensor<f64>
  } do {
  ^bb0(%a: tensor<f64>):
    %0 = "qb.mul"(%a, %a) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    scf.yield %0 : tensor<f64>
  } attributes {qb.bound = 7 : index}
  return %r : tensor<f64>
}
