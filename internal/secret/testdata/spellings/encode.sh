# Made with the C locale, in which Bash and od know bytes alone.
export LC_ALL=C
line() { # encoder, text on standard input, around
  python3 -c 'import json,sys; print(json.dumps({"encoder": sys.argv[1], "text": sys.stdin.buffer.read().decode(), "around": int(sys.argv[2])}))' "$1" "$2"
}
while IFS= read -r value; do
  for around in '|' 'u:|' 'key|, end'; do
    before=${around%%|*}; after=${around#*|}; text="$before$value$after"; rest="$before$after"
    for encoder in 'printf %q' 'od' 'od, words of shell' 'base64' 'base64, wrapped' 'octal escapes'; do
      encode() {
        case $encoder in
        'printf %q') printf %q "$1" ;;
        'od') printf %s "$1" | od -An -v -tx1 ;;
        'od, words of shell') printf %s "$1" | od -An -v -tx1 | sed 's/ /\\x/g' | tr -d '\n' ;;
        'base64') printf %s "$1" | base64 ;;
        'base64, wrapped') printf %s "$1" | base64 -w 16 ;;
        'octal escapes') printf %s "$1" | od -An -v -to1 | sed 's/ /\\/g' | tr -d '\n' ;;
        esac
      }
      n=0; [ -n "$rest" ] && n=$(encode "$rest" | wc -c)
      encode "$text" | line "$encoder" "$n"
    done
  done
done < values.txt
