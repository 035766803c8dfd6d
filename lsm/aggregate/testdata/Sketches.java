import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Random;
import org.apache.paimon.utils.RoaringBitmap32;
import org.apache.paimon.utils.RoaringBitmap64;
import org.apache.paimon.utils.ThetaSketch;

/**
 * Makes lines of "function a b union" with Java Paimon, sketches in base64; sketches.txt has some of the shorter ones. With
 * an argument it reads such lines and tells which unions are not what Java makes of a and b, as sets or byte by byte:
 * TestUnionsOfSketchesAreJavas writes ours where SKETCHES_OURS says.
 *
 * <p>java -cp paimon-bundle-1.4.2.jar:... Sketches.java >sketches.txt
 */
public class Sketches {
    static final Random R = new Random(7);

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            verify();
            return;
        }
        int[] sizes = {0, 1, 2, 3, 7, 8, 9, 30, 200, 1000, 5000, 20000};
        for (String f : new String[] {"rbm32", "rbm64", "theta_sketch"}) {
            for (int i = 0; i < 60; i++) {
                int m = sizes[R.nextInt(f.startsWith("rbm") ? 10 : 12)];
                int n = sizes[R.nextInt(f.startsWith("rbm") ? 10 : 12)];
                byte[] a = sketch(f, m, i), b = sketch(f, n, i);
                line(f, a, b, union(f, a, b));
            }
        }
    }

    static void line(String f, byte[]... sketches) {
        StringBuilder s = new StringBuilder(f);
        for (byte[] b : sketches) {
            s.append(' ').append(Base64.getEncoder().encodeToString(b));
        }
        System.out.println(s);
    }

    static byte[] sketch(String f, int n, int kind) throws Exception {
        int[] values = new int[n];
        int base = R.nextInt(3) * 40;
        for (int i = 0; i < n; i++) {
            values[i] = kind % 3 == 0 ? base + i : kind % 3 == 1 ? R.nextInt(2 * n + 1) : R.nextInt();
        }
        switch (f) {
            case "rbm32":
                return RoaringBitmap32.bitmapOf(values).serialize();
            case "rbm64":
                RoaringBitmap64 b = new RoaringBitmap64();
                for (int v : values) {
                    // numbers of one container, of many, and of many that share few or no bytes of their keys
                    b.add(kind % 4 == 0 ? v : kind % 4 == 1 ? (long) v << 16 : kind % 4 == 2 ? (v & 0x3ffL) << 30 : R.nextLong());
                }
                return b.serialize();
            default:
                return ThetaSketch.sketchOf(values);
        }
    }

    static byte[] union(String f, byte[] a, byte[] b) throws Exception {
        switch (f) {
            case "rbm32":
                RoaringBitmap32 x = new RoaringBitmap32(), y = new RoaringBitmap32();
                x.deserialize(ByteBuffer.wrap(a));
                y.deserialize(ByteBuffer.wrap(b));
                x.or(y);
                return x.serialize();
            case "rbm64":
                RoaringBitmap64 p = new RoaringBitmap64(), q = new RoaringBitmap64();
                p.deserialize(a);
                q.deserialize(b);
                p.or(q);
                return p.serialize();
            default:
                return ThetaSketch.union(a, b);
        }
    }

    static void verify() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        int lines = 0, same = 0, wrong = 0;
        for (String l = in.readLine(); l != null; l = in.readLine()) {
            String[] w = l.split(" ", -1);
            byte[] a = dec(w[1]), b = dec(w[2]), u = dec(w[3]), want = union(w[0], a, b);
            lines++;
            if (java.util.Arrays.equals(u, want)) {
                same++;
                continue;
            }
            boolean equal = false;
            if (w[0].equals("rbm32")) {
                RoaringBitmap32 x = new RoaringBitmap32(), y = new RoaringBitmap32();
                x.deserialize(ByteBuffer.wrap(u));
                y.deserialize(ByteBuffer.wrap(want));
                equal = x.equals(y);
            } else if (w[0].equals("rbm64")) {
                RoaringBitmap64 x = new RoaringBitmap64(), y = new RoaringBitmap64();
                x.deserialize(u);
                y.deserialize(want);
                equal = x.equals(y);
                x.add(-5L); // it can still be changed
                y.add(-5L);
                equal &= x.equals(y);
            }
            if (!equal) {
                wrong++;
                System.out.println("wrong: line " + lines + " " + w[0]);
            }
        }
        System.out.println(lines + " lines, " + same + " the same bytes, " + wrong + " wrong");
    }

    static byte[] dec(String s) {
        return Base64.getDecoder().decode(s);
    }
}
