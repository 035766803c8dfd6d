import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.paimon.flink.action.Action;
import org.apache.paimon.flink.action.ActionBase;
import org.apache.paimon.flink.action.ActionFactory;

/**
 * A Flink job in one JVM (MiniCluster) until it is killed.
 *
 * <pre>
 * Pipeline action|sql|compact --warehouse W --database D --table T --checkpoint-ms N --scratch DIR --parallelism N
 *     --mysql K=V … --table-conf K=V … --flink-conf K=V …
 * </pre>
 *
 * action is Paimon's mysql_sync_table, sql is a mysql-cdc source and INSERT INTO, compact is the dedicated compaction of the
 * table. Prints "records N" whenever the sources' count has grown, and ends with 1 when the job ends.
 */
public class Pipeline {
    private static final Map<String, List<String>> ARGS = new LinkedHashMap<>();
    private static final String COLUMNS = "id BIGINT NOT NULL, data VARCHAR(500), dt VARCHAR(10) NOT NULL, PRIMARY KEY (dt, id) NOT ENFORCED";

    public static void main(String[] a) throws Exception {
        for (int i = 1; i + 1 < a.length; i += 2) {
            ARGS.computeIfAbsent(a[i].substring(2), k -> new ArrayList<>()).add(a[i + 1]);
        }
        StreamExecutionEnvironment env = environment();
        JobClient job;
        switch (a[0]) {
            case "action":
                job = action(env, syncTable());
                break;
            case "compact":
                job = action(env, new ArrayList<>(List.of("compact", "--warehouse", arg("warehouse"), "--database", arg("database"), "--table", arg("table"))));
                break;
            case "sql":
                job = sql(env);
                break;
            default:
                throw new IllegalArgumentException(a[0]);
        }
        for (long seen = 0; !job.getJobStatus().get().isGloballyTerminalState(); Thread.sleep(100)) {
            long n = SourceRecords.total();
            if (n > seen) {
                System.out.println("records " + n);
                seen = n;
            }
        }
        try {
            job.getJobExecutionResult().get();
        } catch (Exception e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(1);
    }

    private static String arg(String k) {
        return ARGS.get(k).get(0);
    }

    private static List<String> args(String k) {
        return ARGS.getOrDefault(k, List.of());
    }

    private static StreamExecutionEnvironment environment() {
        Configuration c = new Configuration();
        c.setString("execution.checkpointing.interval", arg("checkpoint-ms") + " ms");
        c.setString("execution.checkpointing.dir", "file://" + arg("scratch"));
        c.setString("state.backend.type", "hashmap");
        c.setString("restart-strategy.type", "none");
        c.setString("metrics.reporter.records.factory.class", "SourceRecords");
        c.setString("rest.bind-port", "0");
        c.setString("rest.address", "127.0.0.1");
        c.setString("rest.bind-address", "127.0.0.1");
        c.setString("taskmanager.memory.network.min", "64mb");
        c.setString("taskmanager.memory.network.max", "64mb");
        for (String kv : args("flink-conf")) {
            c.setString(key(kv), value(kv));
        }
        c.set(ExecutionOptions.RUNTIME_MODE, RuntimeExecutionMode.STREAMING);
        return StreamExecutionEnvironment.createLocalEnvironment(Integer.parseInt(arg("parallelism")), c);
    }

    private static List<String> syncTable() {
        List<String> p = new ArrayList<>(List.of("mysql_sync_table", "--warehouse", arg("warehouse"), "--database", arg("database"), "--table", arg("table"),
                "--primary_keys", "dt,id", "--partition_keys", "dt"));
        for (String kv : args("mysql")) {
            p.addAll(List.of("--mysql_conf", kv));
        }
        for (String kv : args("table-conf")) {
            p.addAll(List.of("--table_conf", kv));
        }
        return p;
    }

    private static JobClient action(StreamExecutionEnvironment env, List<String> p) throws Exception {
        Action act = ActionFactory.createAction(p.toArray(new String[0])).get();
        ((ActionBase) act).withStreamExecutionEnvironment(env);
        act.build();
        return env.executeAsync(p.get(0));
    }

    private static JobClient sql(StreamExecutionEnvironment env) {
        StreamTableEnvironment t = StreamTableEnvironment.create(env);
        t.getConfig().set("table.local-time-zone", "UTC");
        t.getConfig().set("table.exec.sink.upsert-materialize", "NONE");
        t.executeSql("CREATE TEMPORARY TABLE src (" + COLUMNS + ") WITH ('connector'='mysql-cdc','scan.incremental.snapshot.chunk.key-column'='id'," + options("mysql") + ")");
        t.executeSql("CREATE CATALOG p WITH ('type'='paimon','warehouse'='" + arg("warehouse") + "')");
        t.executeSql("CREATE DATABASE IF NOT EXISTS p." + arg("database"));
        String name = "p." + arg("database") + "." + arg("table");
        t.executeSql("CREATE TABLE IF NOT EXISTS " + name + " (" + COLUMNS + ") PARTITIONED BY (dt) WITH (" + options("table-conf") + ")");
        return t.executeSql("INSERT INTO " + name + " SELECT * FROM default_catalog.default_database.src").getJobClient().get();
    }

    private static String options(String k) {
        StringBuilder b = new StringBuilder();
        for (String kv : args(k)) {
            b.append(b.length() > 0 ? "," : "").append('\'').append(key(kv)).append("'='").append(value(kv)).append('\'');
        }
        return b.toString();
    }

    private static String key(String kv) {
        return kv.substring(0, kv.indexOf('='));
    }

    private static String value(String kv) {
        return kv.substring(kv.indexOf('=') + 1);
    }
}
