#!/usr/bin/perl
# Small changes to C sources, as a careless or tired hand would make them: what a suite must notice.
#
#   mutants.pl list FILE...           every possible change, one a line: FILE LINE FUNCTION
#                                     OPERATOR CLASS BEFORE AFTER, separated by tabs
#   mutants.pl sample SEED N [CLASS] FILE...
#                                     N of them by seed, at most one a source line
#   mutants.pl apply FILE LINE AFTER  rewrites that line; AFTER as `list` prints it
#
# The operators work on text: code inside functions, without comments, strings and the preprocessor.
# A change that does not compile, or that compiles to the same code, is for the driver to drop.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);

# Fields and functions of two alike: each is replaced by the other.
my @twins = (
	[qw(send recv)], [qw(local remote)], [qw(first last)], [qw(head tail)], [qw(put get)],
	[qw(next prev)], [qw(min max)], [qw(src dst)], [qw(read write)], [qw(READ WRITE)],
	[qw(sq rq)], [qw(client server)], [qw(posted taken)], [qw(lkey rkey)], [qw(low high)],
	[qw(psn epsn)], [qw(from to)], [qw(begin end)], [qw(offset length)], [qw(INIT RESET)],
);
my %twin = map { ($_->[0] => $_->[1], $_->[1] => $_->[0]) } @twins;

# The words of a line that make its change one of "races": what orders or excludes threads. Clocks,
# blocks, alarms and requests that are not signalled are other things, and so are atomics on the
# wire, and the functions whose callers have the lock.
my $racy = qr/(?<![bc])lock(?!ed\(|step)|wake|futex|fence|barrier|_atomic_|bias_|(?<!ledger_)undo|
	(?<!str)(?<!EXIT_)signal(?!l?ed)|eventfd|asm|lockstep_(?:await|enter|leave|kick|pass)|
	(?<!al)(?:arm|notify)\(/xi;
my $not_racy = qr/rd_atomic|emu_atomic|atomic_here|rdma_is_atomic|NIC_WR_FENCE/;

my @operators = (
	[boundary => qr/ <= /, sub { ' < ' }],
	[boundary => qr/ < /,  sub { ' <= ' }],
	[boundary => qr/ >= /, sub { ' > ' }],
	[boundary => qr/ > /,  sub { ' >= ' }],
	[equality => qr/ == /, sub { ' != ' }],
	[equality => qr/ != /, sub { ' == ' }],
	[logic    => qr/ && /, sub { ' || ' }],
	[logic    => qr/ \|\| /, sub { ' && ' }],
	[negate   => qr/(?<=if \()!(?=\w)/, sub { '' }],
	[one_off  => qr/ [+-] 1\b/, sub { '' }],
	[one_off  => qr/\+\+/, sub { '--' }],
	[one_off  => qr/--/, sub { '++' }],
	[sign     => qr/ \+= /, sub { ' -= ' }],
	[sign     => qr/ -= /, sub { ' += ' }],
	[value    => qr/\btrue\b/, sub { 'false' }],
	[value    => qr/\bfalse\b/, sub { 'true' }],
	[flow     => qr/(?<=\t)break;/, sub { ';' }],
	[flow     => qr/(?<=\t)continue;/, sub { 'break;' }],
	[order    => qr/memory_order_(?:acquire|release|acq_rel|seq_cst)/,
		sub { 'memory_order_relaxed' }],
	[order    => qr/__ATOMIC_(?:ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)/, sub { '__ATOMIC_RELAXED' }],
	[twin     => qr/(?<![A-Za-z])(?:[A-Za-z]+)(?![A-Za-z])/, sub { $twin{$_[0]} }],
);

# Blanks out comments, strings and the preprocessor, so that columns stay what they are.
sub code_of {
	my ($text) = @_;
	my $blank = sub { my $s = shift; $s =~ s/[^\n]/\x01/g; $s };
	$text =~ s{(/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')}{$blank->($1)}gse;
	$text =~ s{^(#(?:[^\n]*\\\n)*[^\n]*)}{$blank->($1)}gme;
	return split /\n/, $text, -1;
}

sub is_statement {
	my ($line) = @_;
	return $line =~ /^\t+[\w>.\[\]()*& -]+(?:\(.*\)| [-+|&]?= .*);$/ &&
		$line !~ /^\t+(?:return|goto|case|else|if|for|while|struct|const|static|enum|int)\b/ &&
		$line !~ /^\t+\w+ \**\w+(?: = .*)?;$/;
}

# Two assignments without calls, of which neither names what the other sets, have no order; nor
# have two lists that are made empty.
sub has_order {
	my ($first, $second) = @_;
	my ($a, $b) = map { /^\t+([^=()]+) = ([^()]+);$/ ? [$1, $2] :
		/^\t+(?:S?LIST|S?TAILQ)_INIT\(([^()]+)\);$/ ? [$1, ''] : undef } $first, $second;
	return 1 unless $a && $b;
	return $a->[0] eq $b->[0] || index("$b->[0] $b->[1]", $a->[0]) >= 0 ||
		index("$a->[0] $a->[1]", $b->[0]) >= 0;
}

sub changes_of_file {
	my ($file) = @_;
	open(my $in, '<', $file) or die "mutants: $file: $!\n";
	my $text = do { local $/; <$in> };
	my @source = split /\n/, $text, -1;
	my @code = code_of($text);
	my (@found, %equal);
	my ($function, $place) = ('-', '');
	my $add = sub {
		my ($n, $operator, $after) = @_;
		my $orders = $code[$n] =~ $racy && $code[$n] !~ $not_racy;
		my $class = $orders || $operator eq 'order' ? 'race' : 'plain';
		push @found, [$file, $n + 1, $place, $operator, $class, $source[$n], $after];
	};
	for my $n (0 .. $#code) {
		my $line = $code[$n];
		$function = '-' if $n && $code[$n - 1] =~ /^}/;
		$function = $1 if $line =~ /^[A-Za-z].*?\b(\w+)\((?!\()/ && $line !~ /;$/;
		# A line's place stays the same when lines are added before the function.
		my $same = $equal{"$function $line"}++;
		$place = $same ? "$function#" . ($same + 1) : $function;
		# Inside functions only; assertions and traces say nothing of behaviour.
		next if $line !~ /^\t/ || $line =~ /ASSERT|SURE|\bassert\(|_trace|obj_trace|snprintf/;
		for my $op (@operators) {
			my ($name, $pattern, $with) = @$op;
			while ($line =~ /$pattern/g) {
				my ($from, $to) = ($-[0], $+[0]);
				my $new = $with->(substr($line, $from, $to - $from));
				next unless defined $new;
				my $after = $source[$n];
				substr($after, $from, $to - $from) = $new;
				$add->($n, $name, $after);
			}
		}
		next unless is_statement($line);
		(my $dropped = $source[$n]) =~ s/^(\t+).*/$1;/;
		$add->($n, 'drop', $dropped);
		# Two statements change places: written in one line, the next line is left empty.
		if ($n < $#code && is_statement($code[$n + 1]) && has_order($line, $code[$n + 1])) {
			my ($mine) = $line =~ /^(\t+)/;
			my ($next) = $code[$n + 1] =~ /^(\t+)/;
			(my $second = $source[$n]) =~ s/^\t+/ /;
			$add->($n, 'swap', "$source[$n + 1]$second") if $mine eq $next;
		}
	}
	return @found;
}

# The seed alone decides what is sampled, on every machine. A line's rank rests on its text: a change
# of the sources elsewhere leaves the rest of the sample as it was.
sub sample {
	my ($seed, $wanted, @files) = @_;
	my $class = $files[0] =~ /^(?:race|plain)$/ ? shift @files : '';
	my %lines;
	for my $change (map { changes_of_file($_) } @files) {
		next if $class && $change->[4] ne $class;
		my $rank = md5_hex(join("\t", $seed, @{$change}[0, 2, 5]));
		push @{$lines{$rank}}, $change;
	}
	for my $rank (sort keys %lines) {
		last if $wanted-- <= 0;
		my $changes = $lines{$rank};
		my $chosen = $changes->[hex(substr($rank, 0, 6)) % @$changes];
		print join("\t", map { s/\t/\\t/gr } @$chosen), "\n";
	}
}

sub apply {
	my ($file, $n, $after) = @_;
	$after =~ s/\\t/\t/g;
	open(my $in, '<', $file) or die "mutants: $file: $!\n";
	my @lines = <$in>;
	close $in;
	die "mutants: $file has no line $n\n" if $n < 1 || $n > @lines;
	# A swap holds both statements.
	$lines[$n] = "\n" if $n < @lines && $after =~ /\S; \S/ && $after =~ /^\Q@{[$lines[$n] =~ s{\n}{}r]}\E /;
	$lines[$n - 1] = "$after\n";
	open(my $out, '>', $file) or die "mutants: $file: $!\n";
	print $out @lines;
	close $out or die "mutants: $file: $!\n";
}

my $command = shift // '';
if ($command eq 'list' && @ARGV) {
	for my $file (@ARGV) {
		print join("\t", map { s/\t/\\t/gr } @$_), "\n" for changes_of_file($file);
	}
} elsif ($command eq 'sample' && @ARGV >= 3) {
	sample(@ARGV);
} elsif ($command eq 'apply' && @ARGV == 3) {
	apply(@ARGV);
} else {
	die "usage: mutants.pl list FILE... | sample SEED N [CLASS] FILE... | apply FILE LINE AFTER\n";
}
