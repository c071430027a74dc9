# Runs a network once in ns-2 and measures the CPU time. `whyloss bench` writes the network to standard
# input, in these words.
#
#   nodes N
#   link FROM TO BPS SECONDS QUEUE LOSS          one direction; LOSS is the share of packets lost after transmission
#     QUEUE    droptail PACKETS | red PACKETS SECONDS    PACKETS may wait; SECONDS is adaptive RED's target delay
#   default NODE NEXT, route NODE TO NEXT        routing is manual: ns-2 computes no routes between all pairs
#   tcp FROM TO BYTES START0 START1 WINDOW       NewReno with an acknowledgement for every segment; BYTES on the wire
#   cbr FROM TO BYTES START0 START1 BPS DITHER
#   web FROM TO BYTES PER_SECOND SIZE SHAPE      transfers of Pareto size that start as a Poisson process
#   simulate SECONDS SEED
#
# answer, at the end of the run: done PACKETS CPU_SECONDS PEAK_KIB
#
# PACKETS are those that sinks received (cbr), or that senders know to have arrived (TCP). CPU time
# counts from the first event, without the start of ns-2 and the building of the network. ns-2 uses its
# fastest scheduler for these networks, and packets only have the headers that are in use.

remove-all-packet-headers
add-packet-header IP TCP RTP Flags
set ns [new Simulator]
$ns use-scheduler Splay
$ns rtproto Manual
set rng [new RNG]
set senders {}
set sinks {}
set fid 0

proc nodes {n} { global ns node
  for {set i 0} {$i < $n} {incr i} { set node($i) [$ns node] } }

proc link {from to bps seconds kind limit args} { global ns node
  set a $node($from); set b $node($to)
  if {$kind == "red"} {
    $ns simplex-link $a $b $bps $seconds RED
    set q [[$ns link $a $b] queue]
    # For values of zero, ns-2 computes values from the link's rate.
    $q set adaptive_ 1; $q set gentle_ true; $q set bytes_ false; $q set queue_in_bytes_ false; $q set setbit_ false
    $q set thresh_ 0; $q set maxthresh_ 0; $q set q_weight_ 0; $q set targetdelay_ [lindex $args 0]
    $q set mean_pktsize_ 1000
    $ns queue-limit $a $b $limit
  } else {
    $ns simplex-link $a $b $bps $seconds DropTail
    # ns-2's DropTail drops the packet that would fill its queue to the limit; its RED admits it.
    $ns queue-limit $a $b [expr {$limit + 1}]
  }
  set loss [lindex $args end]
  if {$loss > 0} {
    set model [new ErrorModel]; $model unit pkt; $model set rate_ $loss
    $model ranvar [new RandomVariable/Uniform]; $model drop-target [new Agent/Null]
    $ns link-lossmodel $model $a $b
  } }

proc default {at next} { global node
  [$node($at) get-module "Manual"] add-route-to-adj-node -default $node($next) }

proc route {at to next} { global ns node
  $node($at) add-route [$node($to) node-addr] [[$ns link $node($at) $node($next)] head] }

proc connect {source sink from to} { global ns node fid
  $source set fid_ $fid; incr fid
  $ns attach-agent $node($from) $source; $ns attach-agent $node($to) $sink; $ns connect $source $sink }

proc newreno {from to bytes window} { global senders
  set a [new Agent/TCP/Newreno]; $a set packetSize_ [expr {$bytes - 40}]; $a set window_ $window
  connect $a [new Agent/TCPSink] $from $to
  lappend senders $a
  return $a }

proc tcp {from to bytes start0 start1 window} { global ns rng
  set app [new Application/FTP]; $app attach-agent [newreno $from $to $bytes $window]
  $ns at [$rng uniform $start0 $start1] "$app start" }

proc cbr {from to bytes start0 start1 bps dither} { global ns rng sinks
  set a [new Agent/UDP]; $a set packetSize_ $bytes
  set k [new Agent/LossMonitor]; lappend sinks $k
  connect $a $k $from $to
  set app [new Application/Traffic/CBR]; $app attach-agent $a
  $app set packetSize_ $bytes; $app set rate_ $bps; $app set random_ $dither
  $ns at [$rng uniform $start0 $start1] "$app start" }

proc web {from to bytes rate size shape} { global rng
  set gap [new RandomVariable/Exponential]; $gap set avg_ [expr {1.0 / $rate}]; $gap use-rng $rng
  set sizes [new RandomVariable/Pareto]; $sizes set avg_ $size; $sizes set shape_ $shape; $sizes use-rng $rng
  transfers [newreno $from $to $bytes 1000] $gap $sizes [expr {$bytes - 40}] }

proc transfers {agent gap sizes segment} { global ns
  $ns at [expr {[$ns now] + [$gap value]}] \
    "$agent advanceby [expr {int(ceil(double([$sizes value]) / $segment))}]; transfers $agent $gap $sizes $segment" }

# Returns the CPU time of this process, which Linux updates when the process yields.
proc cpu {} {
  after 2
  set file [open /proc/self/schedstat]; set nanos [lindex [gets $file] 0]; close $file
  return [expr {$nanos / 1e9}] }

proc simulate {seconds seed} { global ns rng began
  ns-random $seed; $rng seed $seed
  $ns at 0 { set began [cpu] }
  $ns at $seconds "report"
  $ns run }

proc report {} { global began senders sinks
  set spent [expr {[cpu] - $began}]
  set packets 0
  foreach a $senders { set packets [expr {$packets + [$a set ack_] + 1}] }
  foreach k $sinks { set packets [expr {$packets + [$k set npkts_]}] }
  set file [open /proc/self/status]
  regexp {VmHWM:\s+(\d+)} [read $file] all peak
  puts "done $packets $spent $peak"
  exit 0 }

eval [read stdin]
