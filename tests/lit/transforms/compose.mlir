// RUN: qb-opt %s --qb-vjp=wrt=1 | filecheck %s --check-prefix=WRT
// RUN: qb-opt %s --qb-vmap="size=4 in-axes=0,none" | filecheck %s --check-prefix=AXES
// RUN: qb-opt %s --qb-jvp=wrt=0 --qb-vjp=wrt=0 --emit=text | filecheck %s --check-prefix=OVER
// RUN: qb-opt %s --pass-pipeline="builtin.module(func.func(qb-vjp{wrt=0}),qb-vmap{size=4 in-axes=0,none,0})" | filecheck %s --check-prefix=MAPPED

// Only the arguments that are named get a cotangent; the others' derivatives are not computed.
// WRT-LABEL: func.func @f(
// WRT-SAME: %arg0: tensor<3xf64> {qb.name = "x"}, %arg1: tensor<3xf64> {qb.name = "w"}, %arg2: tensor<3xf64>
// WRT-NOT: qb.cos
// WRT: [[CT:%.+]] = "qb.mul"(%arg2, [[S:%.+]]) :
// WRT: return %{{.+}}, [[CT]] : tensor<3xf64>, tensor<3xf64>

// An argument that is not mapped keeps its type and is broadcast against mapped ones.
// AXES-LABEL: func.func @f(
// AXES-SAME: %arg0: tensor<4x3xf64> {qb.name = "x"}, %arg1: tensor<3xf64> {qb.name = "w"}) -> tensor<4x3xf64>
// AXES: "qb.mul"(%{{.+}}, %arg1) : (tensor<4x3xf64>, tensor<3xf64>) -> tensor<4x3xf64>

// Reverse over forward, for w sin(x) with the tangent v of x and cotangents a of the result, b of its tangent v w cos(x):
// the cotangent of x is a w cos(x) - b v w sin(x).
// OVER: %0 = input[name=x] : tensor<3xf64>
// OVER-NEXT: %1 = input[name=w] : tensor<3xf64>
// OVER-NEXT: %2 = input[name=x_dot] : tensor<3xf64>
// OVER: [[SIN:%.+]] = sin(%0)
// OVER: [[COS:%.+]] = cos(%0)
// OVER: [[NEG:%.+]] = neg([[SIN]])
// OVER: outputs: {{\[\[}}3], [3], [3]]

// MAPPED: func.func @f(%arg0: tensor<4x3xf64> {{.*}}, %arg1: tensor<3xf64> {{.*}}, %arg2: tensor<4x3xf64> {{.*}}) -> (tensor<4x3xf64>, tensor<4x3xf64>)
func.func @f(%x: tensor<3xf64> {qb.name = "x"}, %w: tensor<3xf64> {qb.name = "w"}) -> tensor<3xf64> {
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %1 = "qb.mul"(%0, %w) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}
