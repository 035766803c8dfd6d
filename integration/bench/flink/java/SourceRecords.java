import java.util.List;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/** Counts the records that the job's sources have given so far. */
public class SourceRecords implements MetricReporter, MetricReporterFactory {
    private static final List<Counter> COUNTERS = new CopyOnWriteArrayList<>();

    @Override
    public MetricReporter createMetricReporter(Properties p) {
        return this;
    }

    @Override
    public void open(MetricConfig c) {}

    @Override
    public void close() {}

    @Override
    public void notifyOfAddedMetric(Metric m, String name, MetricGroup g) {
        String operator = g.getAllVariables().get("<operator_name>");
        if (m instanceof Counter && name.equals("numRecordsOut") && operator != null && operator.startsWith("Source:")) {
            COUNTERS.add((Counter) m);
        }
    }

    @Override
    public void notifyOfRemovedMetric(Metric m, String name, MetricGroup g) {}

    static long total() {
        long n = 0;
        for (Counter c : COUNTERS) {
            n += c.getCount();
        }
        return n;
    }
}
