# Runs a network once in ns-2, from a description on standard input. whyloss validate writes the
# description and reads the answer.
#
# usage: ns ns2.tcl < DESCRIPTION
#
#   seed N
#   tick SECONDS                                       the clock of TCP's retransmission timers
#   nodes N
#   link FROM TO BPS SECONDS QUEUE CHANNEL             one direction; numbered from 0 in this order
#     QUEUE    PACKETS that may wait in addition to the one in transmission:
#              droptail PACKETS | red PACKETS MIN MAX LINTERM WEIGHT GENTLE WAIT MEANSIZE MARKS
#     CHANNEL  none | bernoulli P | chain ENTER STAY | list N...   packets lost after transmission
#   flow STACK FROM TO BYTES START0 START1 DELACK WINDOW   BYTES of a full packet on the wire, without TFRC's header
#     STACK    Reno | Newreno | Sack1 | Vegas | TFRC | linux-MODULE
#   ecn                                                TCP is ECN-capable
#   trace LINK                                         print the packets offered to this link
#   end SECONDS
#
# answer, at the end of the run:
#   link I ARRIVED DROPPED LEFT CORRUPTED MARKED       packets, of both directions of a flow
#   flow I ACKNOWLEDGED                                TCP: segments without the SYN; TFRC: -1
#   sent TIME SEQUENCE                                 for each packet offered to the traced link
#   done
#
# Bytes of headers that each agent adds to packetSize_: 40, Agent/TCP/Linux with time stamps 50, Vegas none, TFRC 32.

set ns [new Simulator]
set rng [new RNG]
set links 0
set flows 0

proc seed {n} { global rng; ns-random $n; $rng seed $n }

proc tick {seconds} { Agent/TCP set tcpTick_ $seconds }

proc ecn {} { Agent/TCP set ecn_ 1 }

proc nodes {n} { global ns node
  for {set i 0} {$i < $n} {incr i} { set node($i) [$ns node] } }

proc link {from to bps seconds args} { global ns node links ends queue lost
  set rest [lassign_queue $args]
  if {$queue(kind) == "red"} {
    $ns simplex-link $node($from) $node($to) $bps $seconds RED
    set q [[$ns link $node($from) $node($to)] queue]
    foreach {min max linterm weight gentle wait size marks} $queue(red) break
    $q set bytes_ false; $q set queue_in_bytes_ false; $q set adaptive_ 0; $q set setbit_ $marks
    $q set thresh_ $min; $q set maxthresh_ $max; $q set linterm_ $linterm; $q set q_weight_ $weight
    $q set gentle_ $gentle; $q set wait_ $wait; $q set mean_pktsize_ $size; $q set idle_pktsize_ $size
  } else {
    $ns simplex-link $node($from) $node($to) $bps $seconds DropTail
  }
  # ns-2's DropTail drops the packet that would fill its queue to the limit; its RED admits it.
  $ns queue-limit $node($from) $node($to) [expr {$queue(limit) + ($queue(kind) == "droptail")}]
  set lost($links) ""
  if {[lindex $rest 0] != "none"} {
    set model [channel $rest]
    # A LossMonitor counts its packets. It is set last, because a link sets the drop target of a channel
    # to that of its queue.
    set lost($links) [new Agent/LossMonitor]
    $ns link-lossmodel $model $node($from) $node($to)
    $model drop-target $lost($links)
  }
  set ends($links) [list $node($from) $node($to)]
  incr links
}

# Moves QUEUE from the front of a list into the array queue. Returns the rest.
proc lassign_queue {words} { global queue
  set queue(kind) [lindex $words 0]; set queue(limit) [lindex $words 1]
  if {$queue(kind) == "droptail"} { return [lrange $words 2 end] }
  set queue(red) [lrange $words 2 9]
  return [lrange $words 10 end] }

proc channel {words} {
  switch [lindex $words 0] {
    bernoulli { return [errors [lindex $words 1]] }
    list {
      set model [new ErrorModel/List]; $model unit pkt
      eval $model droplist [lrange $words 1 end]
      return $model }
    chain {
      foreach {enter stay} [lrange $words 1 2] break
      # A rate above one loses every packet.
      set good [errors 0.0]; set bad [errors 1.1]
      return [new ErrorModel/MultiState [list $good $bad] {1 1} \
        [list [list [expr 1 - $enter] $enter] [list [expr 1 - $stay] $stay]] pkt pkt 2 $good] } } }

proc errors {rate} {
  set model [new ErrorModel]; $model unit pkt; $model set rate_ $rate
  $model ranvar [new RandomVariable/Uniform]
  return $model }

proc flow {stack from to bytes start0 start1 delack window} { global ns node rng flows agent
  set delayed [expr {$delack ? "/DelAck" : ""}]
  if {$stack == "TFRC"} {
    set a [new Agent/TFRC]; set k [new Agent/TFRCSink]; set app $a
    $a set packetSize_ $bytes
  } else {
    if {[string match linux-* $stack]} {
      set a [new Agent/TCP/Linux]; $a set timestamps_ true
      $ns at 0 "$a select_ca [string range $stack 6 end]"
      set k [new Agent/TCPSink/Sack1$delayed]; $k set ts_echo_rfc1323_ true
      set headers 50
    } else {
      set a [new Agent/TCP/$stack]
      set sack [expr {$stack == "Sack1" ? "/Sack1" : ""}]
      set k [new Agent/TCPSink$sack$delayed]
      set headers [expr {$stack == "Vegas" ? 0 : 40}]
    }
    $a set packetSize_ [expr $bytes - $headers]; $a set window_ $window
    set app [new Application/FTP]; $app attach-agent $a
  }
  $a set fid_ $flows
  $ns attach-agent $node($from) $a; $ns attach-agent $node($to) $k; $ns connect $a $k
  $ns at [$rng uniform $start0 $start1] "$app start"
  set agent($flows) [list $stack $a]
  incr flows
}

proc trace {link} { global ns ends traced tracefile
  set traced $link
  set tracefile "whyloss-trace-[pid].tr"
  eval $ns trace-queue $ends($link) [open $tracefile w] }

proc end {seconds} { global ns links ends monitor traced
  for {set i 0} {$i < $links} {incr i} {
    # A link has either a monitor or a trace.
    if {![info exists traced] || $traced != $i} {
      set monitor($i) [eval $ns monitor-queue $ends($i) {""}] } }
  $ns at $seconds "report" }

proc report {} { global ns links monitor lost flows agent traced tracefile
  foreach i [lsort -integer [array names monitor]] {
    set m $monitor($i)
    set errors [expr {$lost($i) == "" ? 0 : [$lost($i) set npkts_]}]
    puts [format "link %d %.0f %.0f %.0f %.0f %.0f" $i [$m set parrivals_] [$m set pdrops_] [$m set pdepartures_] \
      $errors [$m set pmarks_]]
  }
  for {set i 0} {$i < $flows} {incr i} {
    foreach {stack a} $agent($i) break
    puts "flow $i [expr {$stack == "TFRC" ? -1 : [$a set ack_]}]"
  }
  if {[info exists traced]} {
    $ns flush-trace
    set f [open $tracefile r]
    while {[gets $f line] >= 0} {
      if {[lindex $line 0] == "+"} { puts "sent [lindex $line 1] [lindex $line 10]" } }
    close $f
    file delete $tracefile
  }
  puts "done"
  exit 0 }

while {[gets stdin line] >= 0} {
  switch [lindex $line 0] {
    seed - tick - ecn - nodes - link - flow - trace - end { eval $line }
    "" {}
    default { puts stderr "no such word: [lindex $line 0]"; exit 2 }
  }
}
$ns run
