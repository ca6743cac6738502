local y = linear(wave { 1, 2 }, reshape(stack { 1, 2, 3 }, { 1, 3 }))    --> linear: expected operands that fit (
