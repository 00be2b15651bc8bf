import java.io.StringWriter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.function.Function;

public class Encode {
    static byte[] bytes(String s) { return s.getBytes(StandardCharsets.UTF_8); }

    static String properties(String s) {
        try {
            var p = new Properties();
            p.setProperty("k", s);
            var w = new StringWriter();
            p.store(w, null);
            return w.toString().lines().filter(l -> l.startsWith("k=")).findFirst().get().substring(2);
        } catch (java.io.IOException e) { throw new RuntimeException(e); }
    }

    static String quote(String s) {
        var b = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            if (c == '"' || c == '\\') b.append('\\').append(c);
            else if (c < ' ') b.append(String.format("\\u%04x", (int) c));
            else b.append(c);
        }
        return b.append('"').toString();
    }

    public static void main(String[] args) throws Exception {
        var encoders = new LinkedHashMap<String, Function<String, String>>();
        encoders.put("URLEncoder", s -> URLEncoder.encode(s, StandardCharsets.UTF_8));
        encoders.put("Properties", Encode::properties);
        encoders.put("Base64", s -> Base64.getEncoder().encodeToString(bytes(s)));
        encoders.put("Base64 without padding", s -> Base64.getEncoder().withoutPadding().encodeToString(bytes(s)));
        encoders.put("Base64 url", s -> Base64.getUrlEncoder().encodeToString(bytes(s)));
        encoders.put("Base64 mime", s -> Base64.getMimeEncoder(20, new byte[] {'\r', '\n'}).encodeToString(bytes(s)));
        encoders.put("Base64 mime, indented", s -> Base64.getMimeEncoder(24, bytes("\n    ")).encodeToString(bytes(s)));
        encoders.put("HexFormat", s -> HexFormat.of().formatHex(bytes(s)));
        encoders.put("HexFormat, upper case, colons", s -> HexFormat.ofDelimiter(":").withUpperCase().formatHex(bytes(s)));
        encoders.put("HexFormat, comma and space", s -> HexFormat.ofDelimiter(", ").formatHex(bytes(s)));
        encoders.put("all \\u", s -> { var b = new StringBuilder(); for (char c : s.toCharArray()) b.append(String.format("\\u%04X", (int) c)); return b.toString(); });
        var out = new java.io.PrintStream(System.out, true, "UTF-8");
        for (String value : Files.readAllLines(Path.of("values.txt")))
            for (var e : encoders.entrySet())
                for (String[] a : new String[][] {{"", ""}, {"u:", ""}, {"key", ", end"}}) {
                    String around = a[0] + a[1], text = e.getValue().apply(a[0] + value + a[1]);
                    out.println("{\"encoder\": " + quote(e.getKey()) + ", \"text\": " + quote(text) + ", \"around\": " + (around.isEmpty() ? 0 : bytes(e.getValue().apply(around)).length) + "}");
                }
    }
}
