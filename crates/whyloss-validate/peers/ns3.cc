// Runs a network in ns-3, from a description on standard input. whyloss validate and whyloss bench
// write the description and read the answers.
//
//   seed N...                                          a run for each seed
//   nodes N
//   link FROM TO BPS SECONDS QUEUE CHANNEL             one direction, numbered from 0; needs the other one
//     QUEUE    droptail PACKETS | red PACKETS MIN MAX 1/MAXP WEIGHT GENTLE WAIT MEANPACKET MARKS
//              codel PACKETS TARGET INTERVAL MARKS | fq-codel PACKETS TARGET INTERVAL MARKS QUANTUM
//              pie PACKETS TARGET MARKS            times in seconds
//     CHANNEL  none | bernoulli P | chain ENTER STAY   packets lost after transmission
//   flow STACK FROM TO BYTES START0 START1 DELACK WINDOW   BYTES of a full packet on the wire, WINDOW in such packets
//     STACK    NewReno | LinuxReno | Cubic | WestwoodPlus | Vegas | Veno | Bbr
//              Rfc6675                             NewReno that halves FlightSize immediately
//   tcp INITIAL BUFFER                                 initial window and size of a sender's buffer, in packets; by
//                                                      default 10 and twice the window
//   default NODE NEXT                                  NODE's next hop for packets to nodes that are not neighbours;
//                                                      without such lines, ns-3 computes the routes
//   ecn                                                TCP is ECN-capable
//   uncounted                                          links do not count packets
//   from SECONDS                                       start of counting; by default the start of the run
//   end SECONDS
//
// answer, at the end of each run:
//   link I ARRIVED DROPPED LEFT CORRUPTED MARKED WAIT  packets; mean waiting time of those that left, in seconds: 0 under
//                                                      droptail, which keeps no times
//   flow I DELIVERED                                   data that the receiver has passed on, in segments
//   done DELIVERED CPU_SECONDS PEAK_KIB EVENTS         by all flows; CPU time of the simulation, without building the
//                                                      network; peak memory of the process so far; events
//
// TCP is ns-3's own with SACK and limited transmit, which are its defaults. The minimum timeout is
// 1 s, and acknowledgements are delayed by up to 200 ms. Timestamps are off: with them, ns-3.37's
// NewReno delivers two thirds as much as without (1 % loss, 100 ms), and a tenth if the minimum
// timeout is 200 ms. A full packet has headers of 2 (PPP) + 20 (IP) + 20 (TCP) bytes. The receiver's
// window should never limit the sender: when one of 100 to 1,000 packets did, ns-3.37 crashed.
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>
#if __has_include(<ns3/tcp-westwood-plus.h>)
#define WESTWOOD_PLUS "ns3::TcpWestwoodPlus"
#else
#define WESTWOOD_PLUS "ns3::TcpWestwood"
#endif

#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

constexpr uint32_t HEADERS = 42, PPP = 2;

struct Link {
  uint32_t from, to;
  double bps, delay;
  std::string discipline;
  uint32_t packets;
  std::string channel;
  double first = 0, second = 0;
  double min, max, linterm, weight;
  bool gentle, wait, marks;
  uint32_t mean, quantum;
  double target, interval;

  bool Selective() const { return discipline != "droptail"; }
};

struct Flow {
  std::string stack;
  uint32_t from, to, bytes;
  double start0, start1;
  uint32_t delack, window;
};

struct Network {
  std::vector<uint32_t> seeds;
  uint32_t nodes = 0;
  std::vector<Link> links;
  std::vector<Flow> flows;
  std::vector<std::pair<uint32_t, uint32_t>> defaults;
  uint32_t initial = 10, buffer = 0;
  bool counted = true, ecn = false;
  double from = 0, end = 0;
};

[[noreturn]] void Refuse(const std::string& line) {
  std::cerr << "not understood: " << line << std::endl;
  std::exit(2);
}

Network Read(std::istream& in) {
  Network net;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    if (word == "seed") {
      for (uint32_t seed; words >> seed;) net.seeds.push_back(seed);
    } else if (word == "nodes") {
      words >> net.nodes;
    } else if (word == "from") {
      words >> net.from;
    } else if (word == "end") {
      words >> net.end;
    } else if (word == "ecn") {
      net.ecn = true;
    } else if (word == "uncounted") {
      net.counted = false;
    } else if (word == "tcp") {
      if (!(words >> net.initial >> net.buffer)) Refuse(line);
    } else if (word == "default") {
      uint32_t node, next;
      if (!(words >> node >> next)) Refuse(line);
      net.defaults.emplace_back(node, next);
    } else if (word == "link") {
      Link link;
      words >> link.from >> link.to >> link.bps >> link.delay >> link.discipline >> link.packets >> std::boolalpha;
      if (link.discipline == "red")
        words >> link.min >> link.max >> link.linterm >> link.weight >> link.gentle >> link.wait >> link.mean >>
            link.marks;
      else if (link.discipline == "codel") words >> link.target >> link.interval >> link.marks;
      else if (link.discipline == "fq-codel") words >> link.target >> link.interval >> link.marks >> link.quantum;
      else if (link.discipline == "pie") words >> link.target >> link.marks;
      else if (link.Selective()) Refuse(line);
      words >> link.channel;
      if (!words) Refuse(line);
      if (link.channel == "bernoulli") words >> link.first;
      else if (link.channel == "chain") words >> link.first >> link.second;
      else if (link.channel != "none") Refuse(line);
      if (!words) Refuse(line);
      net.links.push_back(link);
    } else if (word == "flow") {
      Flow flow;
      if (!(words >> flow.stack >> flow.from >> flow.to >> flow.bytes >> flow.start0 >> flow.start1 >> flow.delack >>
            flow.window))
        Refuse(line);
      net.flows.push_back(flow);
    } else {
      Refuse(line);
    }
  }
  return net;
}

// A two-state chain that steps once per packet, and loses packets in the bad state.
class Chain : public ErrorModel {
 public:
  Chain(double enter, double stay) : m_enter(enter), m_stay(stay), m_random(CreateObject<UniformRandomVariable>()) {}

 private:
  bool DoCorrupt(Ptr<Packet>) override { return m_bad = m_random->GetValue() < (m_bad ? m_stay : m_enter); }
  void DoReset() override { m_bad = false; }
  double m_enter, m_stay;
  bool m_bad = false;
  Ptr<UniformRandomVariable> m_random;
};

struct Count {
  uint64_t arrived = 0, dropped = 0, left = 0, corrupted = 0, marked = 0;
  double waited = 0;
  uint64_t waits = 0;
};

void Add(uint64_t* counter, Ptr<const Packet>) { ++*counter; }
void Refused(Count* count, Ptr<const Packet>) { ++count->arrived, ++count->dropped; }
void AddItem(uint64_t* counter, Ptr<const QueueDiscItem>) { ++*counter; }
void AddFor(uint64_t* counter, Ptr<const QueueDiscItem>, const char*) { ++*counter; }
void Leaves(Count* count, Time waited) { count->waited += waited.GetSeconds(), ++count->waits; }
// A packet that is dropped when it leaves was already counted by Leaves.
void LeavesNot(Count* count, Ptr<const QueueDiscItem> item, const char*) {
  count->waited -= (Simulator::Now() - item->GetTimeStamp()).GetSeconds();
  --count->waits;
}

std::string Nanoseconds(double seconds) { return std::to_string(std::llround(seconds * 1e9)) + "ns"; }

// One more packet waits in the device's queue, below RED's. All of RED's lengths are less by one.
TrafficControlHelper Red(const Link& link) {
  TrafficControlHelper helper;
  helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize",
                          QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, link.packets - 1)), "MinTh",
                          DoubleValue(link.min - 1), "MaxTh", DoubleValue(link.max - 1), "LInterm",
                          DoubleValue(link.linterm), "QW", DoubleValue(link.weight), "Gentle",
                          BooleanValue(link.gentle), "Wait", BooleanValue(link.wait), "MeanPktSize",
                          UintegerValue(link.mean), "UseEcn", BooleanValue(link.marks), "LinkBandwidth", DataRateValue(DataRate(uint64_t(link.bps))));
  return helper;
}

// ns-3's CoDel follows Linux: times are in units of 1,024 ns, and each drop takes one of Newton's
// steps towards the square root. The second drop is therefore due after half an interval instead of
// 1/√2.
TrafficControlHelper CoDel(const Link& link) {
  TrafficControlHelper helper;
  helper.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize",
                          QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, link.packets)), "Target",
                          StringValue(Nanoseconds(link.target)), "Interval", StringValue(Nanoseconds(link.interval)),
                          "UseEcn", BooleanValue(link.marks));
  return helper;
}

// A hash of addresses and ports selects a flow's queue; with a million queues, no flows share one. A
// full queue drops one packet instead of 64.
TrafficControlHelper FqCoDel(const Link& link) {
  TrafficControlHelper helper;
  helper.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize",
                          QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, link.packets)), "Target",
                          StringValue(Nanoseconds(link.target)), "Interval", StringValue(Nanoseconds(link.interval)),
                          "UseEcn", BooleanValue(link.marks), "Flows", UintegerValue(1 << 20), "DropBatchSize",
                          UintegerValue(1));
  return helper;
}

// The delay is the waiting time of the last packet that left. RFC 8033 lets implementations choose
// between timestamps and the departure rate. The de-randomization of section 5.4, which is off by
// default in ns-3, is on. A burst is allowed only after a time without packets.
TrafficControlHelper Pie(const Link& link) {
  TrafficControlHelper helper;
  helper.SetRootQueueDisc("ns3::PieQueueDisc", "MaxSize",
                          QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, link.packets)), "QueueDelayReference",
                          StringValue(Nanoseconds(link.target)), "UseEcn", BooleanValue(link.marks),
                          "UseDerandomization", BooleanValue(true));
  return helper;
}

// A device that sends does not take the next packet from the layer above. Otherwise one would wait in
// the device's own queue, and CoDel and PIE would see each packet a transmission early: by 6 ms at
// 2 Mbit/s, more than CoDel's target. RED does not use this, because its results are older.
void Busy(Ptr<NetDeviceQueue> queue, Ptr<const Packet>) { queue->Stop(); }
void Free(Ptr<NetDeviceQueue> queue, Ptr<const Packet>) { queue->Wake(); }

// Installs the discipline above the device. Its sizes do not include PPP.
void InstallDiscipline(const Link& link, Ptr<NetDevice> device, Count& count) {
  auto disc = (link.discipline == "red"     ? Red(link)
               : link.discipline == "codel" ? CoDel(link)
               : link.discipline == "pie"   ? Pie(link)
                                            : FqCoDel(link))
                  .Install(device)
                  .Get(0);
  if (auto fair = DynamicCast<FqCoDelQueueDisc>(disc)) fair->SetQuantum(link.quantum - PPP);
  disc->TraceConnectWithoutContext("Enqueue", MakeBoundCallback(&AddItem, &count.arrived));
  disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeBoundCallback(&AddFor, &count.arrived));
  disc->TraceConnectWithoutContext("Drop", MakeBoundCallback(&AddItem, &count.dropped));
  disc->TraceConnectWithoutContext("Mark", MakeBoundCallback(&AddFor, &count.marked));
  disc->TraceConnectWithoutContext("SojournTime", MakeBoundCallback(&Leaves, &count));
  disc->TraceConnectWithoutContext("DropAfterDequeue", MakeBoundCallback(&LeavesNot, &count));
  if (link.discipline == "red") return;
  auto queue = device->GetObject<NetDeviceQueueInterface>()->GetTxQueue(0);
  device->TraceConnectWithoutContext("PhyTxBegin", MakeBoundCallback(&Busy, queue));
  device->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&Free, queue));
}

// After a loss, RFC 5681's FlightSize is the window: it includes selectively acknowledged data, but not
// the packets of limited transmit. ns-3 halves the pipe, which is smaller.
class TcpFlightSize : public TcpNewReno {
 public:
  static TypeId GetTypeId() {
    static TypeId type = TypeId("TcpFlightSize").SetParent<TcpNewReno>().AddConstructor<TcpFlightSize>();
    return type;
  }
  TcpFlightSize() = default;
  TcpFlightSize(const TcpFlightSize&) = default;
  uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t pipe) override {
    const bool marked = state->m_congState == TcpSocketState::CA_OPEN;
    const uint32_t flight = marked ? pipe : state->m_cWnd.Get();
    return std::max(flight / 2, 2 * state->m_segmentSize);
  }
  Ptr<TcpCongestionOps> Fork() override { return CopyObject<TcpFlightSize>(this); }
};

void Configure(const Network& net) {
  const Flow& flow = net.flows.front();
  std::string stack = "ns3::Tcp" + flow.stack;
  if (flow.stack == "Rfc6675") {
    stack = TcpFlightSize::GetTypeId().GetName();
    // Replaces proportional rate reduction, which takes a round trip to halve the window.
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
  }
  if (flow.stack == "WestwoodPlus") {
    stack = WESTWOOD_PLUS;
    if (stack == "ns3::TcpWestwood")
      Config::SetDefault("ns3::TcpWestwood::ProtocolType", StringValue("WestwoodPlus"));
  }
  TypeId type;
  if (!TypeId::LookupByNameFailSafe(stack, &type)) Refuse("stack " + flow.stack);
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(type));
  const uint32_t segment = flow.bytes - HEADERS;
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(net.initial));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(flow.delack ? 2 : 1));
  Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(200)));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue((net.buffer ? net.buffer : 2 * flow.window) * segment));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(flow.window * segment));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(net.ecn ? "On" : "Off"));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
  // CoDel drops while more than one full packet remains. ns-3 counts bytes without PPP, and drops
  // from this number of bytes.
  Config::SetDefault("ns3::CoDelQueueDisc::MinBytes", UintegerValue(flow.bytes - PPP + 1));
  // Otherwise a router compares each packet with the addresses of all its interfaces, which takes two
  // thirds of the time with 1,000 interfaces.
  if (!net.defaults.empty()) Config::SetDefaultFailSafe("ns3::Ipv4::WeakEsModel", BooleanValue(false));
}

void Default(Ptr<Node> node, Ipv4Address next, Ptr<NetDevice> device) {
  Ipv4StaticRoutingHelper routing;
  auto ipv4 = node->GetObject<Ipv4>();
  routing.GetStaticRouting(ipv4)->SetDefaultRoute(next, ipv4->GetInterfaceForDevice(device));
}

// Returns the peak memory that Linux reports; 0 on other systems.
uint64_t PeakKib() {
  std::ifstream status("/proc/self/status");
  uint64_t kib = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:") status >> kib;
  return kib;
}

void Run(const Network& net, uint32_t seed) {
  RngSeedManager::SetSeed(20020118);
  RngSeedManager::SetRun(seed);
  Configure(net);

  NodeContainer nodes;
  nodes.Create(net.nodes);
  InternetStackHelper stack;
  stack.SetIpv6StackInstall(false);
  stack.Install(nodes);
  Ipv4AddressHelper addresses;
  addresses.SetBase("10.0.0.0", "255.255.255.252");
  std::vector<Count> counts(net.links.size());
  std::vector<Ipv4Address> address(net.nodes);
  std::vector<bool> made(net.links.size(), false);

  for (size_t i = 0; i < net.links.size(); ++i) {
    if (made[i]) continue;
    const Link& there = net.links[i];
    size_t j = i + 1;
    while (j < net.links.size() && (net.links[j].from != there.to || net.links[j].to != there.from)) ++j;
    if (j == net.links.size() || net.links[j].delay != there.delay) Refuse("a link without its way back");
    made[j] = true;
    PointToPointHelper helper;
    // Without a discipline above it, the device's own queue must be the only one. Otherwise the layer
    // above has another queue, and drops packets that find this one full.
    const bool above = there.Selective() || net.links[j].Selective();
    if (!above) helper.DisableFlowControl();
    helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(int64_t(there.delay * 1e9 + 0.5))));
    NetDeviceContainer devices = helper.Install(nodes.Get(there.from), nodes.Get(there.to));
    const size_t of[] = {i, j};
    for (int end = 0; end < 2; ++end) {
      const Link& link = net.links[of[end]];
      Count& count = counts[of[end]];
      auto sender = DynamicCast<PointToPointNetDevice>(devices.Get(end));
      auto receiver = DynamicCast<PointToPointNetDevice>(devices.Get(1 - end));
      sender->SetDataRate(DataRate(uint64_t(link.bps)));
      auto queue = sender->GetQueue();
      queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, link.Selective() ? 1 : link.packets));
      if (link.Selective()) InstallDiscipline(link, sender, count);
      if (net.counted) {
        if (!link.Selective()) {
          queue->TraceConnectWithoutContext("Enqueue", MakeBoundCallback(&Add, &count.arrived));
          queue->TraceConnectWithoutContext("Drop", MakeBoundCallback(&Refused, &count));
        }
        sender->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&Add, &count.left));
        receiver->TraceConnectWithoutContext("PhyRxDrop", MakeBoundCallback(&Add, &count.corrupted));
      }
      if (link.channel == "bernoulli") {
        auto model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(link.first);
        receiver->SetReceiveErrorModel(model);
      } else if (link.channel == "chain") {
        receiver->SetReceiveErrorModel(CreateObject<Chain>(link.first, link.second));
      }
    }
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    // Assigning addresses gives a device with flow control a queue above it, unless it has one.
    for (int end = 0; end < 2; ++end)
      if (above && !net.links[of[end]].Selective()) TrafficControlHelper().Uninstall(devices.Get(end));
    addresses.NewNetwork();
    address[there.from] = interfaces.GetAddress(0);
    address[there.to] = interfaces.GetAddress(1);
    for (const auto& [node, next] : net.defaults) {
      if (node == there.from && next == there.to) Default(nodes.Get(node), interfaces.GetAddress(1), devices.Get(0));
      if (node == there.to && next == there.from) Default(nodes.Get(node), interfaces.GetAddress(0), devices.Get(1));
    }
  }
  if (net.defaults.empty()) Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  auto random = CreateObject<UniformRandomVariable>();
  std::vector<Ptr<PacketSink>> sinks;
  uint16_t port = 5000;
  for (const Flow& flow : net.flows) {
    ++port;
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address[flow.to], port));
    source.SetAttribute("SendSize", UintegerValue(flow.bytes - HEADERS));
    source.Install(nodes.Get(flow.from)).Start(Seconds(random->GetValue(flow.start0, flow.start1)));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    auto installed = sink.Install(nodes.Get(flow.to));
    installed.Start(Seconds(0));
    sinks.push_back(DynamicCast<PacketSink>(installed.Get(0)));
  }
  std::vector<uint64_t> before(sinks.size(), 0);
  if (net.from > 0)
    Simulator::Schedule(Seconds(net.from), [&] {
      counts.assign(counts.size(), Count());
      for (size_t i = 0; i < sinks.size(); ++i) before[i] = sinks[i]->GetTotalRx();
    });
  Simulator::Stop(Seconds(net.end));
  const std::clock_t began = std::clock();
  Simulator::Run();
  const double spent = double(std::clock() - began) / CLOCKS_PER_SEC;

  for (size_t i = 0; net.counted && i < counts.size(); ++i) {
    const Count& c = counts[i];
    std::cout << "link " << i << ' ' << c.arrived << ' ' << c.dropped << ' ' << c.left << ' ' << c.corrupted << ' '
              << c.marked << ' ' << (c.waits ? c.waited / double(c.waits) : 0) << '\n';
  }
  double delivered = 0;
  for (size_t i = 0; i < sinks.size(); ++i) {
    const double packets = double(sinks[i]->GetTotalRx() - before[i]) / (net.flows[i].bytes - HEADERS);
    std::cout << "flow " << i << ' ' << packets << '\n';
    delivered += packets;
  }
  std::cout << "done " << std::llround(delivered) << ' ' << spent << ' ' << PeakKib() << ' '
            << Simulator::GetEventCount() << std::endl;
  Simulator::Destroy();
  Ipv4AddressGenerator::Reset();
}

}  // namespace

int main() {
  const Network net = Read(std::cin);
  if (net.flows.empty() || net.end <= 0) Refuse("a network without flows or end");
  for (uint32_t seed : net.seeds) Run(net, seed);
  return 0;
}
