# One number per line in: mean and 95 % t interval out. One number alone has no interval.
BEGIN {
    # two-sided 95 % quantiles of t for 1 .. 30 degrees of freedom
    split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 " \
          "2.131 2.120 2.110 2.101 2.093 2.086 2.080 2.074 2.069 2.064 2.060 2.056 2.052 2.048 " \
          "2.045 2.042", t, " ")
}
{ x[++n] = $1; sum += $1 }
END {
    if (!n) { print "- - -"; exit }
    mean = sum / n
    for (i = 1; i <= n; i++) square += (x[i] - mean) ^ 2
    if (n == 1) { printf "%.6g - -\n", mean; exit }
    half = t[n > 31 ? 30 : n - 1] * sqrt(square / (n - 1) / n)
    printf "%.6g %.6g %.6g\n", mean, mean - half, mean + half
}
