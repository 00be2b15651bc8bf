use strict; use warnings; use utf8;
use Encode qw(encode_utf8);
use JSON::PP; use MIME::Base64; use Data::Dumper;
binmode STDOUT;
my $json = JSON::PP->new->canonical;
sub dumped { local ($Data::Dumper::Useqq, $Data::Dumper::Terse, $Data::Dumper::Indent) = (1, 1, 0); return Dumper($_[0]) }
my @encoders = (
  ['JSON::PP', sub { JSON::PP->new->utf8->allow_nonref->encode($_[0]) }],
  ['JSON::PP, ASCII', sub { JSON::PP->new->ascii->allow_nonref->encode($_[0]) }],
  ['uri, lower case', sub { my $b = encode_utf8($_[0]); $b =~ s/([^A-Za-z0-9._~-])/sprintf('%%%02x', ord $1)/ge; $b }],
  ['uri, mixed case', sub { my $b = encode_utf8($_[0]); my $n = 0; $b =~ s/([^A-Za-z0-9._~-])/sprintf($n++ % 2 ? '%%%02x' : '%%%02X', ord $1)/ge; $b }],
  ['Data::Dumper of bytes', sub { dumped(encode_utf8($_[0])) }],
  ['Data::Dumper of characters', sub { dumped($_[0]) }],
  ['MIME::Base64', sub { encode_base64(encode_utf8($_[0])) }],
  ['MIME::Base64, one line', sub { encode_base64(encode_utf8($_[0]), '') }],
  ['unpack H*', sub { unpack('H*', encode_utf8($_[0])) }],
  ['decimal references without semicolon', sub { join(' ', map { $_ } join('', map { sprintf('&#%d;', ord $_) } split //, $_[0])) }],
  ['octal', sub { join('', map { sprintf('\\%03o', ord $_) } split //, encode_utf8($_[0])) }],
);
open(my $in, '<:encoding(UTF-8)', 'values.txt') or die; chomp(my @values = <$in>);
for my $value (@values) { for my $e (@encoders) { for my $a (['', ''], ['u:', ''], ['key', ', end']) {
  my ($name, $f) = @$e; my $text = $f->("$a->[0]$value$a->[1]");
  my $around = "$a->[0]$a->[1]" eq '' ? 0 : length $f->("$a->[0]$a->[1]");
  utf8::decode($text) unless utf8::is_utf8($text);
  print JSON::PP->new->ascii->canonical->encode({encoder => $name, text => $text, around => 0 + $around}), "\n";
} } }
