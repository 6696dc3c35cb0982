/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the help of each command says in front of its options (about_) and after them (details_).
 * The options themselves are in the command's table; options_help.c puts the parts together.
 */
#include "commands.h"

const char about_test[] =
	"Runs each script (*.dsim) on a fabric of its own, in virtual time, and prints TAP. A\n"
	"script passes if every line of it holds, no checker finds a fault and no object is\n"
	"left behind.\n";

const char details_test[] =
	"A script has one statement a line; # begins a comment:\n"
	"\n"
	"  fabric profile=ib|iwarp latency=2us bandwidth=100Gbps mtu=4096 rnr_retry=6\n"
	"         rnr_timer=100us quantum=0ns seed=1          (on one line; all optional)\n"
	"         watch=posted poison=on placement=tail|random ends=device retry=spurious\n"
	"         complete=sent                   hostile adapters: `datsim help run`\n"
	"  use connected a@emu0 b@emu1 [srq=S max=16 lw=0 soft=0] [eps=1] [recv=16] [request=16]\n"
	"         [iov=4] [qlen=64] [memory=1M] [qual=1000]\n"
	"  use connected a,b,c@emu0.. s@emu3 [...]             a, b and c, each connected to s\n"
	"  use adapter a@emu0 [qlen=64] [memory=1M]\n"
	"  use bare a@emu0\n"
	"\n"
	"`use adapter` gives an actor ia, pz, mem (an LMR) and the EVDs recv, request, connect,\n"
	"cr, async. `use connected` adds on both sides connected EPs ep, ep2, ep3 ..., and at\n"
	"the last actor psp and, if asked for, the SRQ that its EPs receive through.\n"
	"\n"
	"       b: dat_srq_post_recv(S, 256) x4                   a call, four times\n"
	"       b: dat_srq_resize(S, 2) = DAT_INVALID_STATE       the return value expected\n"
	"       b: dat_srq_query(S) -> {available_dto_count=4}    the output expected\n"
	"       b: dat_pz_create(ia) -> pz2                       a name for a new object\n"
	"       b: dat_psp_query(psp) -> {conn_qual=?q}           a name for an output value\n"
	"       a: dat_ep_post_rdma_write(ep, 64, b.mem)          or {mem=b.mem}, {rmr=b.w}\n"
	"  *    b: event recv DTO_COMPLETION length=64            an event, at any time\n"
	"  +5us b: event async SRQ_LOW_WATERMARK S                exactly 5us after the last line\n"
	"  5us~9us b: event connect BROKEN                        in this span of script time\n"
	"  +1ms b: no event async                                 no event until then; *: never\n"
	"       b: agent 7 recv                                   the agent of a CNO is called\n"
	"  *    a>b SEND psn=+1 message=2                         the next packet of this link\n"
	"       no packet a>b                                     and none that no line names\n"
	"       hold a>b after 1 packets                          keep later packets on the wire\n"
	"       release a>b\n"
	"       hold a.ep message 2 after 1 packets               hold the rest of one message\n"
	"       release a.ep message 2\n"
	"       link a>b latency=5us bandwidth=10Gbps\n"
	"       fault link a>b drop opcode=SEND nth=1             lose the next Send\n"
	"       fault link a>b delay 50us jitter 10us             also reorder, corrupt,\n"
	"       fault link a>b loss 1% optional                   duplicate, nak CODE, count,\n"
	"                                                         down, up, dead\n"
	"       fault qp b.ep rnr times=2                         RNR NAK for packets to that EP\n"
	"       fault call dat_ep_post_send actor=a nth=3 fail DAT_INSUFFICIENT_RESOURCES\n"
	"       fault alloc nth=7                                 no memory: library, backend\n"
	"       fault completion ep=b.ep op=RECV status DAT_DTO_ERR_TRANSPORT\n"
	"                                                         also overflow, delay 5us\n"
	"       fault event ESTABLISHED actor=a lose              also delay 5us; notification\n"
	"       fault adapter b fatal at 2ms\n"
	"       fault adapter b down at 2ms for 1ms\n"
	"       fault call ibv_post_send nth=3 fail ENOMEM        for a program that uses verbs\n"
	"       heal                                              no faults from here on\n"
	"       for i in 1..3: b: dat_srq_post_recv(S, $i)        a line for each number\n"
	"       note \"a line for the timeline\"\n"
	"       quiet                                             run until no event is pending\n"
	"  end  quiet\n"
	"\n"
	"Calls are those of <dat/udat.h>, arguments in its order, outputs after \"->\".\n"
	"Constants may lose their prefix (CONNECTED). Parameters with a default may be left out\n"
	"or named (flags=SOLICITED_WAIT). Segments: 64, [64 0 32], [{mem=m offset=0\n"
	"length=64}]. Bad handles on purpose: NULL, garbage, stale(name), the name of another\n"
	"kind of object. \"= DAT_INVALID_STATE/DAT_INVALID_STATE_SRQ_IN_USE\" expects this\n"
	"subtype too. A fault acts from its line on. part=first|last, nth=, every=, after=,\n"
	"times=, probability=, from= and until= (script time) select the packets or, with\n"
	"actor= and ep=, the calls that it acts on. A fault that never acted fails the script,\n"
	"unless it is optional. A script that is expected to fail says how: # Failure:\n"
	"REGULAR-EXPRESSION\n";

const char about_show[] =
	"Prints a trace as a timeline: time, calls of the programs, packets on the wire, the\n"
	"counts of the shared receive queue (max/available/outstanding) and the events\n"
	"delivered. Of two to four programs each has a column of its own.\n";

const char details_show[] =
	"Colour is used on a terminal that has it, and not with NO_COLOR set. The timeline is as\n"
	"wide as the terminal, or 100 columns; what does not fit its column goes on in the next\n"
	"line. On a terminal it is shown by $PAGER, or by less. The terminal needs 40 columns.\n";

const char about_run[] =
	"Runs an unmodified program of uDAPL (linked with -ldat), or of libibverbs and librdmacm,\n"
	"on a simulated fabric. A report on stderr says what the program did there: virtual time,\n"
	"packets, events, calls that failed, objects it left. The exit status is that of the\n"
	"program (128 + N if signal N ended it).\n";

const char details_run[] =
	"A script of faults (--script) has lines of these kinds only, as in `datsim help\n"
	"test`, but of adapters and of EPs as the trace names them:\n"
	"\n"
	"  fabric latency=5us\n"
	"  fault link emu0>emu1 drop opcode=SEND nth=3\n"
	"  fault qp emu1.ep2 rnr times=2 optional\n"
	"\n"
	"A fault that never acts, and is not optional, turns an exit status of 0 into 1.\n"
	"\n"
	"Several programs, with + (or --and) between them, run each in a process of its own and\n"
	"share one fabric: datsim run -- ./server + ./client localhost. Time on it is real,\n"
	"unless they run in lockstep. Each program is started when the one before it listens or\n"
	"waits. Its node has the program's name, or the one that --node NAME in front of the\n"
	"program gives. The exit status is the first one that is not 0. --script works with one\n"
	"program, or with several in lockstep, and then names nodes in place of adapters: fault\n"
	"link server>client loss 5%, fault kill client at 3ms restart after 1ms, turn order,\n"
	"turn client call=12 to=server, turn server call=7 for=5us.\n"
	"\n"
	"With --hostile adapters do what devices are allowed to do, though programs seldom expect\n"
	"it:\n"
	"\n"
	"  watch=posted       a change to a buffer of a Send, RDMA Write or Read, or Receive, own\n"
	"                     or shared, between its post and its completion is told, and ends\n"
	"                     the run with exit status 3\n"
	"  poison=on          a Receive holds garbage from its post to its completion; one that\n"
	"                     fails or is flushed keeps it\n"
	"  placement=tail     the last bytes of a message are there first; =random: its cache\n"
	"                     lines come in any order. The completion is last\n"
	"  ends=device        an end hears of a break as BROKEN or as DISCONNECTED; a disconnect\n"
	"                     request is lost, and comes again\n"
	"  retry=spurious     an acknowledgement is late, and the request is sent twice (ib)\n"
	"  complete=sent      a Send or RDMA Write completes when TCP has it; if it fails later,\n"
	"                     the connection ends (iwarp)\n"
	"\n"
	"Further knobs are environment variables: `datsim info` lists them.\n";

const char about_fabric[] =
	"Manages the fabrics that processes of this user share. A program joins a fabric by the\n"
	"environment variable DATSIM_FABRIC=NAME.\n"
	"\n"
	"  create NAME   make a fabric as the environment says (`datsim info`). It stays until\n"
	"                it is destroyed; a fabric that the first program to join made is\n"
	"                removed when the last one leaves\n"
	"  list          the fabrics by name, and how many processes take part in each\n"
	"  show NAME     the processes: node, address of the first adapter, number of objects\n"
	"  destroy NAME  remove a fabric, also after its processes were killed. Its trace goes\n"
	"                to the file that DATSIM_TRACE named when the fabric was made\n";

const char about_replay[] =
	"Runs again what made the trace, and compares the new trace with the old one byte by\n"
	"byte. The header of the trace names the command: a script, or a program, which has to\n"
	"be where it was. The exit status is 0 if the traces are equal; otherwise it is 1, and\n"
	"the first line that differs is printed.\n"
	"\n"
	"A trace that a program wrote because DATSIM_TRACE was set names no command; replay\n"
	"then says how to repeat the program.\n";

const char about_explore[] =
	"Runs a script many times, each time with another seed and other faults: losses,\n"
	"delays, reordering, duplicates, corruption, RNR NAKs, latencies of the links. Buffers\n"
	"that are posted are watched (`datsim help run`, watch=posted), unless DATSIM_HOSTILE\n"
	"is set. The faults act from the end of the set-up until \"end\"; then they are removed,\n"
	"and the fabric has to become quiet. A connection survives them, so a script that waits\n"
	"(*) for the events it needs, and relies on no timing, holds. The first script that\n"
	"fails is shortened while it fails in the same way, printed, and written to a file with\n"
	"a line that replays it. The exit status is that of this script.\n"
	"\n"
	"A program, of uDAPL or libibverbs, meets the same faults, on fabrics of other\n"
	"latency, bandwidth, MTU, RNR timer and poll quantum. Every fault ends at some time.\n"
	"The program fails if it ends with an exit status that is not 0, a signal, a\n"
	"sanitizer's report or objects left (exit status 3), or if it waits for an event that\n"
	"cannot come or does not end (exit status 4). The faults are shortened, printed and\n"
	"written as a script for `datsim run --script`. The program is started once and forked\n"
	"where it opens its fabric, so that all runs share what it did before that; a program\n"
	"that cannot be forked there is started anew for each run. Its output is not shown.\n"
	"\n"
	"Several programs with + between them run as with `datsim run --lockstep`; a schedule\n"
	"then also chooses whose turn it is. They are forked, too, if each of them can be; those\n"
	"that meet by TCP before they open the fabric are started anew for each run: if that is\n"
	"at a fixed port, leave -j at 1.\n"
	"\n"
	"With --store it is a campaign: explore first tries the failures that the folder has,\n"
	"then goes on after each failure, counts those that fail in a known way, and keeps each\n"
	"other one as a file that replays it. Several shards may share the folder; `datsim\n"
	"merge` unites folders. The exit status is that of the first failure, old or new.\n";

const char about_merge[] =
	"Unites folders of failures, which shards of `datsim explore --store` have written: one\n"
	"failure for each signature, the shortest of them, and how far each shard has come. What\n"
	"was kept as it was found (--no-shrink) is shrunk once: scripts always, programs if they\n"
	"are named behind --, as for explore. A store does not say what to execute.\n";

const char about_shell[] =
	"Runs the lines of a script as you type them, and shows for each line its results, the\n"
	"packets and events that followed and the counts of the shared receive queue. Time\n"
	"stands still between lines. Lines can be undone one by one, and all of them saved as a\n"
	"test.\n"
	"\n"
	"With a terminal and libedit: history, and completion (tab) of what can come next: calls,\n"
	"objects of the right type, constants, fields, events. `complete LINE` prints it.\n";

const char about_env[] =
	"Prints lines for the shell: after eval \"$(datsim env)\" programs that use libibverbs\n"
	"run on the simulated fabric. `datsim run` does the same for the programs it starts.\n";

const char about_info[] =
	"Lists the adapters, the limits and abilities of the first one, and every environment\n"
	"variable with the value in force.\n";

const char about_conformance[] =
	"Runs the conformance suite, one script or more for each clause of the standard, and\n"
	"prints a table: call, clause in our own words, the ruling that decides it, script,\n"
	"result. Then it says why scripts failed or were skipped. DIR is another folder of\n"
	"scripts, each of which begins with the clause that it shows:\n"
	"\n"
	"  # dat_srq_set_lw: the event comes once per arming (L3)\n";

const char details_conformance[] = "The exit status is that of `datsim test`.\n";

const char about_sweep[] =
	"Runs each script once for every point at which an operation can fail, and makes it\n"
	"fail there: an allocation by the library, or an object that the adapter makes (alloc);\n"
	"a post that the adapter refuses (post); a completion that ends with a transport error,\n"
	"a bind that fails, a connection or watermark event that never comes (event). Lines\n"
	"that the failure breaks are passed over. But each call must still succeed or return an\n"
	"error that its page lists, no checker may find a fault, and at the end, with the fault\n"
	"removed, the fabric must become quiet and every object must be freed, without a crash\n"
	"or a hang. Prints TAP, and for a point that fails a line that runs it again.\n";

const char about_hwcheck[] =
	"Opens a verbs device (DAT_PROVIDER=hw) twice, connects the two sides with each other\n"
	"and checks what works: memory, connections and their ends, messages, RDMA, windows,\n"
	"shared queues, watermarks, many connections, latency. Prints one page: the device, its\n"
	"firmware and limits, and a line for each check, PASS, FAIL or SKIP with the reason.\n"
	"Please send it in, whatever it says.\n";

const char details_hwcheck[] =
	"The exit status is 0 if something passed and nothing failed, 1 if not, and 2 if there\n"
	"is no such device or no permission to use it. On a terminal, stderr shows which check\n"
	"is in progress.\n";
