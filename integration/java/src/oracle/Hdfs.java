package oracle;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/** Verbs hdfs-race and hdfs-bench: Hadoop's own client, without Paimon. */
final class Hdfs {
    private Hdfs() {}

    /** Logs in by the keytab that --catalog names, as Paimon's engines do before they open a catalog. */
    static void login() {
        String keytab = Common.catalogOptions.get("security.kerberos.login.keytab");
        if (keytab == null) {
            return;
        }
        try {
            UserGroupInformation.setConfiguration(configuration());
            UserGroupInformation.loginUserFromKeytab(Common.catalogOptions.get("security.kerberos.login.principal"), keytab);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static FileSystem open(Path root) throws Exception {
        return FileSystem.get(root.toUri(), configuration());
    }

    private static Configuration configuration() {
        Configuration c = new Configuration();
        String dir = Common.catalogOptions.get("hadoop-conf-dir");
        if (dir != null) {
            c.addResource(new Path("file://" + dir + "/core-site.xml"));
            c.addResource(new Path("file://" + dir + "/hdfs-site.xml"));
        }
        return c;
    }

    /**
     * One of several that want to make the same files ROOT/snapshot-0, snapshot-1, ... as Paimon's commit does, by renaming a temporary
     * file: prints "ready", waits for a line, renames, prints true or false, for each.
     */
    static void race(Args a) throws Exception {
        Path root = new Path(a.pos(0, "ROOT"));
        String name = a.pos(1, "NAME");
        int count = a.getInt("rounds", 100);
        int delay = a.getInt("delay-ms", 40);
        Random random = new Random(a.getLong("seed", 1));
        a.done();
        FileSystem fs = open(root);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (int i = 0; i < count; i++) {
            Path tmp = new Path(root, "." + name + "-" + i + ".tmp");
            try (FSDataOutputStream out = fs.create(tmp, false)) {
                out.write((name + " " + i + ";").repeat(100).getBytes(StandardCharsets.UTF_8));
            }
            J.out.println("ready");
            J.out.flush();
            if (in.readLine() == null) {
                throw new J.Fail("no go");
            }
            // the others write their file first
            Thread.sleep(random.nextInt(delay + 1));
            boolean won = fs.rename(tmp, new Path(root, "snapshot-" + i));
            if (!won) {
                fs.delete(tmp, false);
            }
            J.out.println(won);
            J.out.flush();
        }
    }

    /** Writes a file of --mb megabytes, or reads it, and prints what that took. */
    static void bench(Args a) throws Exception {
        Path path = new Path(a.pos(0, "FILE"));
        long mb = a.getLong("mb", 256);
        int replication = a.getInt("replication", 3);
        String op = a.get("op", "write");
        a.done();
        FileSystem fs = open(path);
        byte[] buf = new byte[1 << 20];
        new Random(1).nextBytes(buf);
        long bytes = 0;
        long start = System.nanoTime();
        if (op.equals("write")) {
            try (FSDataOutputStream out =
                    fs.create(path, true, 64 << 10, (short) replication, fs.getDefaultBlockSize(path))) {
                for (long i = 0; i < mb; i++) {
                    out.write(buf);
                    bytes += buf.length;
                }
            }
        } else {
            try (FSDataInputStream in = fs.open(path)) {
                for (int n = in.read(buf); n >= 0; n = in.read(buf)) {
                    bytes += n;
                }
            }
        }
        long ns = System.nanoTime() - start;
        J.print(J.obj("op", op, "bytes", bytes, "ms", ns / 1_000_000, "mbPerSecond", bytes * 1000.0 / ns / 1.048576));
    }
}
