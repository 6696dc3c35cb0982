#!/usr/bin/perl
# Which lines a test has run, from the files of reached.c.
#
#   reached.pl table MODULE           the places of a module: ADDRESS FILE:LINE, by objdump; an
#                                     address is the one that reached.c marks for that line
#   reached.pl index OUT TABLES MAP   for each source a file OUT/a@b.c: LINE TEST TEST...
#                                     TABLES has MODULE.table files, MAP a folder for each test
use strict;
use warnings;

# The line table says where each line's code begins; the callback that returned last before that
# address is the one of its basic block.
sub table {
	my ($module) = @_;
	my (@sites, @rows);
	open(my $code, '-|', 'objdump', '-d', '--no-show-raw-insn', $module) or die;
	my $called;
	while (<$code>) {
		next unless /^\s*([0-9a-f]+):/;
		push @sites, hex $1 if $called;
		$called = /call.*__sanitizer_cov_trace_pc/;
	}
	close $code;
	# Its names of files lack their folders; addr2line knows them.
	my (%begins, $address);
	open(my $lines, '-|', "objdump --dwarf=decodedline $module 2> /dev/null") or die;
	while (<$lines>) {
		$begins{$1} = 1 if /^\S+\.c\s+\d+\s+0x([0-9a-f]+)/;
	}
	close $lines;
	my $list = "$module.lines";
	open(my $to, '>', $list) or die "$list: $!\n";
	print $to "$_\n" for sort keys %begins;
	close $to;
	open(my $places, '-|', "addr2line -a -e $module < $list") or die;
	while (<$places>) {
		if (/^0x([0-9a-f]+)$/) {
			$address = hex $1;
		} elsif (m{^.*?/(?:tree|\.\.)/(?:run/\.\./)?(\S+\.c):(\d+)}) {
			push @rows, [$address, "$1:$2"];
		}
	}
	close $places;
	unlink $list;
	@sites = sort { $a <=> $b } @sites;
	my ($i, %seen) = (0);
	for my $row (sort { $a->[0] <=> $b->[0] } @rows) {
		$i++ while $i + 1 < @sites && $sites[$i + 1] <= $row->[0];
		# A row at the call itself belongs to the block that the call begins.
		my $site = $i + 1 < @sites && $sites[$i + 1] - $row->[0] <= 5 ? $sites[$i + 1]
			: $sites[$i];
		print "$site $row->[1]\n" unless $seen{"$site $row->[1]"}++;
	}
}

sub index_all {
	my ($out, $tables, $map) = @_;
	my (%at, %tests);
	for my $path (glob "$tables/*.table") {
		my ($module) = $path =~ m{([^/]+)\.table$};
		open(my $in, '<', $path) or die "$path: $!\n";
		while (<$in>) {
			my ($address, $place) = split;
			push @{$at{$module}[$address]}, $place;
		}
	}
	for my $folder (glob "$map/*/") {
		my ($test) = $folder =~ m{([^/]+)/$};
		next unless -f "$map/$test.ms";
		my %lines;
		for my $module (keys %at) {
			open(my $in, '<:raw', "$folder$module") or next;
			my $bytes = do { local $/; <$in> };
			while ($bytes =~ /\x01/g) {
				my $places = $at{$module}[pos($bytes) - 1] or next;
				$lines{$_} = 1 for @$places;
			}
		}
		push @{$tests{$_}}, $test for keys %lines;
	}
	my %files;
	push @{$files{$_->[0]}}, $_->[1] for map { [/^(.*):(\d+)$/] } keys %tests;
	for my $file (keys %files) {
		open(my $to, '>', "$out/" . $file =~ s{/}{\@}gr) or die "$out: $!\n";
		print $to "$_ @{$tests{\"$file:$_\"}}\n" for sort { $a <=> $b } @{$files{$file}};
	}
}

my $command = shift // '';
if ($command eq 'table' && @ARGV == 1) {
	table(@ARGV);
} elsif ($command eq 'index' && @ARGV == 3) {
	index_all(@ARGV);
} else {
	die "usage: reached.pl table MODULE | index OUT TABLES MAP\n";
}
