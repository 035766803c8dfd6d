import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Random;
import org.apache.paimon.shade.org.apache.datasketches.hll.HllSketch;
import org.apache.paimon.shade.org.apache.datasketches.hll.TgtHllType;
import org.apache.paimon.shade.org.apache.datasketches.hll.Union;
import org.apache.paimon.utils.HllSketchUtil;
import org.apache.paimon.utils.RoaringBitmap32;
import org.apache.paimon.utils.RoaringBitmap64;
import org.apache.paimon.utils.ThetaSketch;

/**
 * Makes lines of "function a b union" with Java Paimon, sketches in base64; sketches.txt has some of the shorter ones. With
 * a function and a number it makes so many lines of that one; of HLL sketches these
 * have more slots. With the argument "verify" it reads such lines and tells which unions are not what Java makes of a and b,
 * as sets or byte by byte: TestUnionsOfSketchesAreJavas writes ours where SKETCHES_OURS says.
 *
 * <p>java -cp paimon-bundle-1.4.2.jar:... Sketches.java >sketches.txt
 */
public class Sketches {
    static final Random R = new Random(7);

    public static void main(String[] args) throws Exception {
        if (args.length == 1) {
            verify();
            return;
        }
        if (args.length == 2) {
            for (int i = 0; i < Integer.parseInt(args[1]); i++) {
                byte[] a = sketch(args[0], 1 << R.nextInt(15), i), b = sketch(args[0], 1 << R.nextInt(15), i + R.nextInt(2));
                line(args[0], a, b, union(args[0], a, b));
            }
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
        maxLgK = 10;
        for (int i = 0; i < 400; i++) {
            byte[] a = hll(), b = hll();
            line("hll_sketch", a, b, union("hll_sketch", a, b));
        }
    }

    /** Of HLL sketches. */
    static int maxLgK = 14;

    /** A sketch of any mode, type and size; some are unions, and some have high numbers, which values hardly ever give. */
    static byte[] hll() throws Exception {
        int lgK = R.nextInt(3) == 0 ? 4 + R.nextInt(maxLgK - 3) : maxLgK - 2;
        HllSketch s = hll(lgK);
        if (R.nextInt(3) == 0) {
            Union u = new Union(4 + R.nextInt(maxLgK - 3));
            u.update(s);
            for (int i = R.nextInt(3); i > 0; i--) {
                u.update(hll(R.nextInt(3) == 0 ? 4 + R.nextInt(maxLgK - 3) : lgK));
            }
            switch (R.nextInt(3)) {
                case 0:
                    return u.toCompactByteArray();
                case 1:
                    return u.toUpdatableByteArray();
                default:
                    s = u.getResult(TgtHllType.values()[R.nextInt(3)]);
            }
        }
        return R.nextBoolean() ? s.toCompactByteArray() : s.toUpdatableByteArray();
    }

    static HllSketch hll(int lgK) throws Exception {
        HllSketch s = new HllSketch(lgK, TgtHllType.values()[R.nextInt(3)]);
        int most = new int[] {1, 8, 9, 1 << lgK >> 4, 1 << lgK >> 2, 1 << lgK, 1 << lgK, 40 << lgK}[R.nextInt(8)];
        int bits = R.nextBoolean() ? 64 : 12; // so that sketches share values
        for (int i = R.nextInt(most + 1); i > 0; i--) {
            s.update(R.nextLong() >>> (64 - bits));
        }
        Method add = HllSketch.class.getDeclaredMethod("couponUpdate", int.class);
        add.setAccessible(true);
        for (int i = R.nextInt(5) > 0 ? 0 : R.nextInt(Math.max(1, most / 8)); i > 0; i--) {
            add.invoke(s, (1 + R.nextInt(63)) << 26 | R.nextInt(1 << 26));
        }
        return s;
    }

    static void line(String f, byte[]... sketches) {
        StringBuilder s = new StringBuilder(f);
        for (byte[] b : sketches) {
            s.append(' ').append(Base64.getEncoder().encodeToString(b));
        }
        System.out.println(s);
    }

    static byte[] sketch(String f, int n, int kind) throws Exception {
        if (f.equals("hll_sketch")) {
            return hll();
        }
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
            case "hll_sketch":
                return HllSketchUtil.union(a, b);
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
