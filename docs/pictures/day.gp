# One day of a vault: when a secret of each class can be read. `make pictures` draws day.svg from this file.
set terminal svg size 900,300 font "sans-serif,14" background "white"

# From when to when a secret can be read, and the row of its class.
$readable << END
 8.0 10.5  3
12.0 13.5  3
15.5 18.0  3
 8.0 18.0  2
 6.2 19.4  1
END

# What happens, and when.
$events << END
 6.2 "daemon\nstarts"
 8.0 "login"
10.5 "lock"
12.0 "unlock"
13.5 "sleep"
14.5 "wake"
15.5 "unlock"
18.0 "logout"
END

# What becomes of the keys.
$keys << END
11.25 3 "key erased"
14.5  3 "key erased"
18.75 3 "key erased"
18.75 2 "key erased"
END

set xrange [5.7:19.5]
set yrange [0.5:4.4]
unset border
unset key
unset xtics
set ytics ("when-unlocked\n(the default)" 3, "after-first-unlock" 2, "always\n(deprecated)" 1) scale 0
set lmargin 20
set rmargin 1
set tmargin 1
set bmargin 1

do for [hour in "6.2 8.0 10.5 12.0 13.5 14.5 15.5 18.0"] {
  set arrow from real(hour), 0.55 to real(hour), 3.55 nohead back linecolor rgb "#9a9a9a" dashtype 3
}
set style fill solid noborder
plot $readable using 1:3:1:2:($3-0.3):($3+0.3) with boxxyerror linecolor rgb "#2f6fb0", \
     $readable using (($1+$2)/2):3:("readable") with labels center textcolor rgb "white", \
     $keys using 1:2:3 with labels center textcolor rgb "#606060" font "sans-serif,12", \
     $events using 1:(3.85):2 with labels center
