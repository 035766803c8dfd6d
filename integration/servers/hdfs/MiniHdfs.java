import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.hdfs.server.datanode.DataNode;

/**
 * A real HDFS in one JVM, on loopback, for tests: for what hdfs.sh's processes can't be, a pair of NameNodes or a secured cluster.
 *
 * <pre>
 *   dir=/tmp/hdfs      where name and data dirs live (kept over restarts)
 *   base=9000          the ports: NameNode base (the second one base+1), their HTTP (WebHDFS) base+2 and base+3, control base+5, KDC
 *                      base+6; DataNode i has base+10+10*i for data transfer, its IPC +1, its HTTP +2
 *   datanodes=1
 *   format=auto        auto: format if there is no image yet; yes; no
 *   ha=false           true: 2 NameNodes that share an edit log folder; fail over through control
 *   ns=ns1             with ha: the name service
 *   fsync=false        true: the NameNode syncs its edit log to disk (slow on a shared disk; only a
 *                      crash of the machine, not of the process, needs it)
 *   kerberos=false     true: a KDC (realm EXAMPLE.COM, TCP) and a secured HDFS; principals hdfs/localhost (the servers and
 *                      superuser), root, alice (plain users); dir/keytab has all keys, dir/krb5.conf
 *   protection=        with kerberos: authentication, integrity or privacy (data transfer)
 *   ticket=86400       with kerberos: how many seconds a ticket lives
 *   conf=/dir          where core-site.xml and hdfs-site.xml for clients are written (default dir/conf)
 *   -Dkey=value        any Hadoop property (as an argument, after the class name)
 * </pre>
 *
 * Prints one line "READY ..." on stdout when the cluster takes writes. SIGTERM ends it cleanly.
 */
public class MiniHdfs {
  static MiniDFSCluster cluster;
  static final Map<Integer, MiniDFSCluster.DataNodeProperties> stopped = new HashMap<>();

  public static void main(String[] args) {
    try {
      run(args);
    } catch (Throwable t) {
      t.printStackTrace();
      Runtime.getRuntime().halt(1); // the cluster's own threads would keep the JVM alive
    }
  }

  static void run(String[] args) throws Exception {
    long t0 = System.currentTimeMillis();
    Map<String, String> a = new HashMap<>();
    Configuration conf = new Configuration();
    // Small and quick: nothing here changes what a client sees.
    conf.setBoolean("dfs.permissions.enabled", true);
    conf.setInt("dfs.replication", 1);
    conf.setLong("dfs.namenode.fs-limits.min-block-size", 1024);
    conf.setInt("dfs.namenode.handler.count", 4);
    conf.setInt("dfs.datanode.handler.count", 4);
    conf.setInt("dfs.namenode.safemode.extension", 0);
    conf.setInt("dfs.namenode.decommission.interval", 1);
    conf.setInt("dfs.heartbeat.interval", 1);
    conf.set("dfs.datanode.du.reserved", "0");
    conf.setBoolean("dfs.disk.balancer.enabled", false);
    for (String arg : args) {
      if (arg.startsWith("-D")) {
        String[] kv = arg.substring(2).split("=", 2);
        conf.set(kv[0], kv[1]);
      } else {
        String[] kv = arg.split("=", 2);
        a.put(kv[0], kv[1]);
      }
    }
    File dir = new File(a.getOrDefault("dir", "/tmp/mini-hdfs")).getAbsoluteFile();
    int nn = Integer.parseInt(a.getOrDefault("base", "9000"));
    int http = nn + 2;
    int dn = nn + 10;
    int control = nn + 5;
    int n = Integer.parseInt(a.getOrDefault("datanodes", "1"));
    boolean ha = Boolean.parseBoolean(a.getOrDefault("ha", "false"));
    String ns = a.getOrDefault("ns", "ns1");
    String fmt = a.getOrDefault("format", "auto");
    File confDir = new File(a.getOrDefault("conf", new File(dir, "conf").getPath()));
    boolean haveImage = new File(dir, "name-0-1/current/VERSION").exists()
        || new File(dir, "name-" + ns + "-1/current/VERSION").exists();
    boolean format = fmt.equals("yes") || (fmt.equals("auto") && !haveImage);
    dir.mkdirs();
    System.setProperty("test.build.data", dir.getPath());
    System.setProperty("hadoop.log.dir", dir.getPath());

    if (Boolean.parseBoolean(a.getOrDefault("kerberos", "false"))) {
      secure(conf, dir, nn + 6, a.getOrDefault("protection", "authentication"),
          a.getOrDefault("ticket", "86400"));
    }
    Configuration[] over = new Configuration[n];
    for (int i = 0; i < n; i++) {
      over[i] = new Configuration(false);
      over[i].set("dfs.datanode.address", "127.0.0.1:" + (dn + 10 * i));
      over[i].set("dfs.datanode.ipc.address", "127.0.0.1:" + (dn + 10 * i + 1));
      over[i].set("dfs.datanode.http.address", "127.0.0.1:" + (dn + 10 * i + 2));
    }
    MiniDFSCluster.Builder b = new MiniDFSCluster.Builder(conf, dir);
    b.numDataNodes(n).format(format).dataNodeConfOverlays(over).checkExitOnShutdown(false)
        .checkDataNodeAddrConfig(true)
        .skipFsyncForTesting(!Boolean.parseBoolean(a.getOrDefault("fsync", "false")));
    if (ha) {
      conf.setInt("dfs.ha.tail-edits.period", 1);
      b.nnTopology(new MiniDFSNNTopology().addNameservice(new MiniDFSNNTopology.NSConf(ns)
          .addNN(new MiniDFSNNTopology.NNConf("nn0").setIpcPort(nn).setHttpPort(http))
          .addNN(new MiniDFSNNTopology.NNConf("nn1").setIpcPort(nn + 1).setHttpPort(http + 1))));
      cluster = b.build();
      cluster.transitionToActive(0);
    } else {
      b.nameNodePort(nn).nameNodeHttpPort(http);
      cluster = b.build();
    }
    cluster.waitActive();

    StringBuilder addrs = new StringBuilder();
    Map<String, String> core = new TreeMap<>(), site = new TreeMap<>();
    if (ha) {
      core.put("fs.defaultFS", "hdfs://" + ns);
      site.put("dfs.nameservices", ns);
      site.put("dfs.ha.namenodes." + ns, "nn0,nn1");
      site.put("dfs.client.failover.proxy.provider." + ns,
          "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider");
      for (int i = 0; i < 2; i++) {
        String ad = "127.0.0.1:" + cluster.getNameNodePort(i);
        site.put("dfs.namenode.rpc-address." + ns + ".nn" + i, ad);
        site.put("dfs.namenode.http-address." + ns + ".nn" + i,
            "127.0.0.1:" + cluster.getNameNode(i).getHttpAddress().getPort());
        addrs.append(i == 0 ? "" : ",").append(ad);
      }
    } else {
      // a secured server's principal names a host
      addrs.append("kerberos".equals(conf.get("hadoop.security.authentication")) ? "localhost:" : "127.0.0.1:")
          .append(cluster.getNameNodePort());
      core.put("fs.defaultFS", "hdfs://" + addrs);
      site.put("dfs.namenode.http-address", "127.0.0.1:" + cluster.getNameNode().getHttpAddress().getPort());
    }
    site.put("dfs.replication", conf.get("dfs.replication"));
    for (String k : new String[] {"hadoop.security.authentication", "dfs.data.transfer.protection",
        "hadoop.rpc.protection",
        "dfs.encrypt.data.transfer", "dfs.namenode.kerberos.principal", "dfs.web.authentication.kerberos.principal"}) {
      if (conf.get(k) != null) {
        (k.startsWith("hadoop") ? core : site).put(k, conf.get(k));
      }
    }
    confDir.mkdirs();
    write(new File(confDir, "core-site.xml"), core);
    write(new File(confDir, "hdfs-site.xml"), site);

    HttpServer s = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), control), 16);
    s.createContext("/", MiniHdfs::handle);
    s.setExecutor(java.util.concurrent.Executors.newCachedThreadPool());
    s.start();
    // Not a shutdown hook: DataNodes themselves add and remove hooks while they stop.
    for (String sig : new String[] {"TERM", "INT"}) {
      sun.misc.Signal.handle(new sun.misc.Signal(sig), x -> new Thread(() -> {
        int rc = 0;
        try {
          cluster.shutdown(false, false); // false: keep the data
        } catch (Throwable t) {
          t.printStackTrace();
          rc = 1;
        }
        Runtime.getRuntime().halt(rc);
      }).start());
    }
    System.out.println("READY namenodes=" + addrs + " datanodes=" + n + " format=" + format
        + " conf=" + confDir + " ms=" + (System.currentTimeMillis() - t0));
    System.out.flush();
    Thread.currentThread().join();
  }

  static void secure(Configuration conf, File dir, int port, String protection, String ticket) throws Exception {
    java.util.Properties p = org.apache.hadoop.minikdc.MiniKdc.createConf();
    p.setProperty("kdc.port", "" + port);
    p.setProperty("kdc.bind.address", "127.0.0.1");
    p.setProperty("max.ticket.lifetime", ticket); // seconds
    File kdcDir = new File(dir, "kdc");
    kdcDir.mkdirs();
    org.apache.hadoop.minikdc.MiniKdc kdc = new org.apache.hadoop.minikdc.MiniKdc(p, kdcDir);
    kdc.start();
    File keytab = new File(dir, "keytab");
    keytab.delete();
    kdc.createPrincipal(keytab, "hdfs/localhost", "HTTP/localhost", "root", "alice");
    Files.copy(kdc.getKrb5conf().toPath(), new File(dir, "krb5.conf").toPath(),
        java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    String hdfs = "hdfs/localhost@" + kdc.getRealm();
    conf.set("hadoop.security.authentication", "kerberos");
    conf.set("dfs.namenode.kerberos.principal", hdfs);
    conf.set("dfs.namenode.keytab.file", keytab.getPath());
    conf.set("dfs.datanode.kerberos.principal", hdfs);
    conf.set("dfs.datanode.keytab.file", keytab.getPath());
    conf.set("dfs.web.authentication.kerberos.principal", "HTTP/localhost@" + kdc.getRealm());
    conf.set("dfs.web.authentication.kerberos.keytab", keytab.getPath());
    conf.setBoolean("dfs.block.access.token.enable", true);
    conf.set("dfs.data.transfer.protection", protection);
    conf.setBoolean("ignore.secure.ports.for.testing", true); // no HTTPS, no ports below 1024
    org.apache.hadoop.security.UserGroupInformation.setConfiguration(conf);
    org.apache.hadoop.security.UserGroupInformation.loginUserFromKeytab(hdfs, keytab.getPath());
  }

  /**
   * Faults, one GET each; the answer is one line.
   * /dn/stop?i=0  /dn/start?i=0  /nn/stop?i=0  /nn/start?i=0  /nn/restart?i=0
   * /ha/active?i=1 (the other one becomes standby first)  /safemode/enter  /safemode/leave
   */
  static synchronized String control(String path, int i) throws Exception {
    switch (path) {
      case "/dn/stop": {
        int at = 0;
        int port = -1;
        for (DataNode d : cluster.getDataNodes()) {
          if (index(d) == i) {
            port = d.getXferPort();
            break;
          }
          at++;
        }
        if (port < 0) {
          return "no such datanode";
        }
        stopped.put(i, cluster.stopDataNode(at));
        return "stopped " + port;
      }
      case "/dn/start":
        return "" + cluster.restartDataNode(stopped.remove(i), true);
      case "/nn/stop":
        cluster.shutdownNameNode(i);
        return "stopped";
      case "/nn/start":
      case "/nn/restart":
        cluster.restartNameNode(i, cluster.getNumNameNodes() == 1);
        return "started";
      case "/ha/active":
        try {
          cluster.transitionToStandby(1 - i);
        } catch (Exception e) {
          System.err.println("standby: " + e);
        }
        cluster.transitionToActive(i);
        return "active " + i;
      case "/safemode/enter":
        cluster.getNameNodeRpc(i).setSafeMode(SafeModeAction.SAFEMODE_ENTER, false);
        return "on";
      case "/safemode/leave":
        cluster.getNameNodeRpc(i).setSafeMode(SafeModeAction.SAFEMODE_LEAVE, false);
        return "off";
      default:
        return "unknown " + path;
    }
  }

  static final Map<Integer, Integer> portIndex = new HashMap<>();

  static int index(DataNode d) {
    // the order of the data transfer ports is the order of the nodes
    if (portIndex.isEmpty()) {
      int[] ports = cluster.getDataNodes().stream().mapToInt(DataNode::getXferPort).sorted().toArray();
      for (int i = 0; i < ports.length; i++) {
        portIndex.put(ports[i], i);
      }
    }
    return portIndex.getOrDefault(d.getXferPort(), -1);
  }

  static void handle(HttpExchange x) throws java.io.IOException {
    int i = 0;
    String q = x.getRequestURI().getQuery();
    if (q != null && q.startsWith("i=")) {
      i = Integer.parseInt(q.substring(2));
    }
    String out;
    int code = 200;
    try {
      out = control(x.getRequestURI().getPath(), i);
    } catch (Throwable t) {
      out = t.toString();
      code = 500;
    }
    byte[] r = (out + "\n").getBytes(StandardCharsets.UTF_8);
    x.sendResponseHeaders(code, r.length);
    x.getResponseBody().write(r);
    x.close();
  }

  static void write(File f, Map<String, String> m) throws java.io.IOException {
    try (PrintWriter w = new PrintWriter(Files.newBufferedWriter(f.toPath()))) {
      w.println("<?xml version=\"1.0\"?>\n<configuration>");
      m.forEach((k, v) -> w.println("  <property><name>" + k + "</name><value>" + v + "</value></property>"));
      w.println("</configuration>");
    }
  }
}
