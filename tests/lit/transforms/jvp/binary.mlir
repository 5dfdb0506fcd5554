// RUN: qb-opt %s --qb-jvp | filecheck %s

// Forward mode of elementwise ops with several operands: %arg2 and %arg3 are the tangents.

// CHECK-LABEL: func.func @add(
// CHECK: [[R:%.+]] = "qb.add"(%arg0, %arg1)
// CHECK: [[T:%.+]] = "qb.add"(%arg2, %arg3)
// CHECK: return [[R]], [[T]]
func.func @add(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.add"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @sub(
// CHECK: [[R:%.+]] = "qb.sub"(%arg0, %arg1)
// CHECK: [[T:%.+]] = "qb.sub"(%arg2, %arg3)
// CHECK: return [[R]], [[T]]
func.func @sub(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sub"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @mul(
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, %arg1)
// CHECK: [[A:%.+]] = "qb.mul"(%arg2, %arg1)
// CHECK: [[B:%.+]] = "qb.mul"(%arg3, %arg0)
// CHECK: [[T:%.+]] = "qb.add"([[A]], [[B]])
// CHECK: return [[R]], [[T]]
func.func @mul(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.mul"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// The slopes are 1 / y and -(x / y) / y.
// CHECK-LABEL: func.func @div(
// CHECK: [[R:%.+]] = "qb.div"(%arg0, %arg1)
// CHECK: [[TX:%.+]] = "qb.div"(%arg2, %arg1)
// CHECK: [[Q:%.+]] = "qb.div"([[R]], %arg1)
// CHECK: [[DY:%.+]] = "qb.neg"([[Q]])
// CHECK: [[TY:%.+]] = "qb.mul"(%arg3, [[DY]])
// CHECK: [[T:%.+]] = "qb.add"([[TX]], [[TY]])
// CHECK: return [[R]], [[T]]
func.func @div(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.div"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// y x**(y - 1) and x**y log(x). The first is 0 at x = 0 for y < 1, and no branch meets log(0) or 0**-1.
// CHECK-LABEL: func.func @pow(
// CHECK: [[R:%.+]] = "qb.pow"(%arg0, %arg1)
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: [[XZ:%.+]] = "qb.compare"(%arg0, [[ZERO]]) {kind = "equal"}
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[YL:%.+]] = "qb.compare"(%arg1, [[ONE]]) {kind = "less"}
// CHECK: [[FLAT:%.+]] = "qb.where"([[XZ]], [[YL]], [[XZ]])
// CHECK: [[B:%.+]] = "qb.where"([[FLAT]], [[ONE]], %arg0)
// CHECK: [[N:%.+]] = "qb.sub"(%arg1, [[ONE]])
// CHECK: [[P:%.+]] = "qb.pow"([[B]], [[N]])
// CHECK: [[Q:%.+]] = "qb.mul"(%arg1, [[P]])
// CHECK: [[DX:%.+]] = "qb.where"([[FLAT]], [[ZERO]], [[Q]])
// CHECK: [[TX:%.+]] = "qb.mul"(%arg2, [[DX]])
// CHECK: [[NP:%.+]] = "qb.compare"(%arg0, [[ZERO]]) {kind = "less_equal"}
// CHECK: [[BL:%.+]] = "qb.where"([[NP]], [[ONE]], %arg0)
// CHECK: [[NN:%.+]] = "qb.compare"([[R]], [[R]]) {kind = "not_equal"}
// CHECK: [[NAN:%.+]] = "qb.constant"() {value = dense<0x7FF8000000000000> : tensor<f64>}
// CHECK: [[E:%.+]] = "qb.where"([[NN]], [[NAN]], [[ZERO]])
// CHECK: [[PP:%.+]] = "qb.pow"([[BL]], %arg1)
// CHECK: [[L:%.+]] = "qb.log"([[BL]])
// CHECK: [[LP:%.+]] = "qb.mul"([[PP]], [[L]])
// CHECK: [[DY:%.+]] = "qb.where"([[NP]], [[E]], [[LP]])
// CHECK: [[TY:%.+]] = "qb.mul"(%arg3, [[DY]])
// CHECK: [[T:%.+]] = "qb.add"([[TX]], [[TY]])
// CHECK: return [[R]], [[T]]
func.func @pow(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.pow"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// y / (x**2 + y**2) and -x / (x**2 + y**2), and 0 at the origin by convention.
// CHECK-LABEL: func.func @atan2(
// CHECK: [[R:%.+]] = "qb.atan2"(%arg0, %arg1)
// CHECK: [[C:%.+]] = "qb.direction"(%arg1, %arg0)
// CHECK: [[H:%.+]] = "qb.hypot"(%arg1, %arg0)
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: [[AT:%.+]] = "qb.compare"([[H]], [[ZERO]]) {kind = "equal"}
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[S:%.+]] = "qb.where"([[AT]], [[ONE]], [[H]])
// CHECK: [[DX:%.+]] = "qb.div"([[C]], [[S]])
// CHECK: [[TX:%.+]] = "qb.mul"(%arg2, [[DX]])
// CHECK: [[D:%.+]] = "qb.direction"(%arg0, %arg1)
// CHECK: [[Q:%.+]] = "qb.div"([[D]], [[S]])
// CHECK: [[DY:%.+]] = "qb.neg"([[Q]])
// CHECK: [[TY:%.+]] = "qb.mul"(%arg3, [[DY]])
// CHECK: [[T:%.+]] = "qb.add"([[TX]], [[TY]])
// CHECK: return [[R]], [[T]]
func.func @atan2(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.atan2"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// sin**2 / r and -cos sin / r for the angle and the length r of the vector.
// CHECK-LABEL: func.func @direction(
// CHECK: [[R:%.+]] = "qb.direction"(%arg0, %arg1)
// CHECK: [[D:%.+]] = "qb.direction"(%arg1, %arg0)
// CHECK: [[H:%.+]] = "qb.hypot"(%arg0, %arg1)
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: [[AT:%.+]] = "qb.compare"([[H]], [[ZERO]]) {kind = "equal"}
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[S:%.+]] = "qb.where"([[AT]], [[ONE]], [[H]])
// CHECK: [[Q:%.+]] = "qb.div"([[D]], [[S]])
// CHECK: [[DX:%.+]] = "qb.mul"([[Q]], [[D]])
// CHECK: [[TX:%.+]] = "qb.mul"(%arg2, [[DX]])
// CHECK: [[P:%.+]] = "qb.div"([[R]], [[S]])
// CHECK: [[M:%.+]] = "qb.mul"([[P]], [[D]])
// CHECK: [[DY:%.+]] = "qb.neg"([[M]])
// CHECK: [[TY:%.+]] = "qb.mul"(%arg3, [[DY]])
// CHECK: [[T:%.+]] = "qb.add"([[TX]], [[TY]])
// CHECK: return [[R]], [[T]]
func.func @direction(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.direction"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// x / hypot(x, y) and y / hypot(x, y), and 0 at the origin by convention.
// CHECK-LABEL: func.func @hypot(
// CHECK: [[R:%.+]] = "qb.hypot"(%arg0, %arg1)
// CHECK: [[DX:%.+]] = "qb.direction"(%arg0, %arg1)
// CHECK: [[TX:%.+]] = "qb.mul"(%arg2, [[DX]])
// CHECK: [[DY:%.+]] = "qb.direction"(%arg1, %arg0)
// CHECK: [[TY:%.+]] = "qb.mul"(%arg3, [[DY]])
// CHECK: [[T:%.+]] = "qb.add"([[TX]], [[TY]])
// CHECK: return [[R]], [[T]]
func.func @hypot(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.hypot"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// The slope belongs to the larger operand, and in a tie half to each; the other one's is 0, however infinite.
// CHECK-LABEL: func.func @maximum(
// CHECK: [[R:%.+]] = "qb.maximum"(%arg0, %arg1)
// CHECK: [[A:%.+]] = "qb.compare"(%arg0, [[R]]) {kind = "less"}
// CHECK: [[U:%.+]] = "qb.compare"([[R]], [[R]]) {kind = "not_equal"}
// CHECK: [[E:%.+]] = "qb.compare"(%arg0, %arg1) {kind = "equal"}
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<3xf64>}
// CHECK: [[HALF:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>}
// CHECK: [[H:%.+]] = "qb.where"([[E]], [[HALF]], [[ONE]])
// CHECK: [[NAN:%.+]] = "qb.constant"() {value = dense<0x7FF8000000000000> : tensor<f64>}
// CHECK: [[S:%.+]] = "qb.where"([[U]], [[NAN]], [[H]])
// CHECK: [[P:%.+]] = "qb.mul"(%arg2, [[S]])
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: [[X:%.+]] = "qb.where"([[A]], [[ZERO]], [[P]])
// CHECK: [[B:%.+]] = "qb.compare"(%arg1, [[R]]) {kind = "less"}
// CHECK: [[Q:%.+]] = "qb.mul"(%arg3, [[S]])
// CHECK: [[Y:%.+]] = "qb.where"([[B]], [[ZERO]], [[Q]])
// CHECK: [[N:%.+]] = "qb.where"([[A]], [[B]], [[A]])
// CHECK: [[T:%.+]] = "qb.add"([[X]], [[Y]])
// CHECK: [[D:%.+]] = "qb.where"([[N]], [[ZERO]], [[T]])
// CHECK: return [[R]], [[D]]
func.func @maximum(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.maximum"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// The slope belongs to the smaller operand, and in a tie half to each; the other one's is 0, however infinite.
// CHECK-LABEL: func.func @minimum(
// CHECK: [[R:%.+]] = "qb.minimum"(%arg0, %arg1)
// CHECK: [[A:%.+]] = "qb.compare"(%arg0, [[R]]) {kind = "greater"}
// CHECK: [[U:%.+]] = "qb.compare"([[R]], [[R]]) {kind = "not_equal"}
// CHECK: [[E:%.+]] = "qb.compare"(%arg0, %arg1) {kind = "equal"}
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<3xf64>}
// CHECK: [[HALF:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>}
// CHECK: [[H:%.+]] = "qb.where"([[E]], [[HALF]], [[ONE]])
// CHECK: [[NAN:%.+]] = "qb.constant"() {value = dense<0x7FF8000000000000> : tensor<f64>}
// CHECK: [[S:%.+]] = "qb.where"([[U]], [[NAN]], [[H]])
// CHECK: [[P:%.+]] = "qb.mul"(%arg2, [[S]])
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: [[X:%.+]] = "qb.where"([[A]], [[ZERO]], [[P]])
// CHECK: [[B:%.+]] = "qb.compare"(%arg1, [[R]]) {kind = "greater"}
// CHECK: [[Q:%.+]] = "qb.mul"(%arg3, [[S]])
// CHECK: [[Y:%.+]] = "qb.where"([[B]], [[ZERO]], [[Q]])
// CHECK: [[N:%.+]] = "qb.where"([[A]], [[B]], [[A]])
// CHECK: [[T:%.+]] = "qb.add"([[X]], [[Y]])
// CHECK: [[D:%.+]] = "qb.where"([[N]], [[ZERO]], [[T]])
// CHECK: return [[R]], [[D]]
func.func @minimum(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.minimum"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// x - q y with the quotient q rounded towards zero: the slopes are 1 and -q.
// CHECK-LABEL: func.func @fmod(
// CHECK: [[R:%.+]] = "qb.fmod"(%arg0, %arg1)
// CHECK: [[A:%.+]] = "qb.sub"(%arg0, [[R]])
// CHECK: [[B:%.+]] = "qb.div"([[A]], %arg1)
// CHECK: [[Q:%.+]] = "qb.round"([[B]])
// CHECK: [[DY:%.+]] = "qb.neg"([[Q]])
// CHECK: [[TY:%.+]] = "qb.mul"(%arg3, [[DY]])
// CHECK: [[T:%.+]] = "qb.add"(%arg2, [[TY]])
// CHECK: return [[R]], [[T]]
func.func @fmod(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.fmod"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// A mask has the derivative 0.
// CHECK-LABEL: func.func @greater(
// CHECK: [[R:%.+]] = "qb.greater"(%arg0, %arg1)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: return [[R]], [[Z]]
func.func @greater(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.greater"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// A bool result has no tangent.
// CHECK-LABEL: func.func @compare(
// CHECK: [[R:%.+]] = "qb.compare"(%arg0, %arg1) {kind = "less"}
// CHECK: return [[R]]
func.func @compare(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xi1> {
  %0 = "qb.compare"(%x, %y) {kind = "less"} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}

// CHECK-LABEL: func.func @where(
// CHECK: [[R:%.+]] = "qb.where"(%arg0, %arg1, %arg2)
// CHECK: [[T:%.+]] = "qb.where"(%arg0, %arg3, %arg4)
// CHECK: return [[R]], [[T]]
func.func @where(%x: tensor<3xi1>, %y: tensor<3xf64>, %z: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.where"(%x, %y, %z) : (tensor<3xi1>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @mul_broadcast(
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, %arg1)
// CHECK: [[A:%.+]] = "qb.mul"(%arg2, %arg1)
// CHECK: [[B:%.+]] = "qb.mul"(%arg3, %arg0) : (tensor<3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[T:%.+]] = "qb.add"([[A]], [[B]])
// CHECK: return [[R]], [[T]]
func.func @mul_broadcast(%x: tensor<2x3xf64>, %y: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.mul"(%x, %y) : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// CHECK-LABEL: func.func @add_broadcast(
// CHECK: [[R:%.+]] = "qb.add"(%arg0, %arg1)
// CHECK: [[T:%.+]] = "qb.add"(%arg2, %arg3) : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
// CHECK: return [[R]], [[T]]
func.func @add_broadcast(%x: tensor<2x3xf64>, %y: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.add"(%x, %y) : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
