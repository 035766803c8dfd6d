import com.mysql.cj.MysqlConnection;
import com.mysql.cj.Query;
import com.mysql.cj.interceptors.QueryInterceptor;
import com.mysql.cj.log.Log;
import com.mysql.cj.protocol.Resultset;
import com.mysql.cj.protocol.ServerSession;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;
import java.util.function.Supplier;

/**
 * An interceptor of Connector/J for Flink CDC 3.5 on MySQL 8.4 and later: it sends SHOW MASTER STATUS, which is gone there, and
 * gets the answer of SHOW BINARY LOG STATUS.
 */
public class MasterStatus implements QueryInterceptor {
    private MysqlConnection connection;

    @Override
    public QueryInterceptor init(MysqlConnection c, Properties p, Log l) {
        connection = c;
        return this;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T extends Resultset> T preProcess(Supplier<String> sql, Query q) {
        String s = sql == null ? null : sql.get();
        if (s == null || !s.trim().equalsIgnoreCase("SHOW MASTER STATUS")) {
            return null;
        }
        try {
            return (T) ((Connection) connection).createStatement().executeQuery("SHOW BINARY LOG STATUS");
        } catch (SQLException e) {
            throw new RuntimeException(e);
        }
    }

    @Override
    public boolean executeTopLevelOnly() {
        return false;
    }

    @Override
    public void destroy() {}

    @Override
    public <T extends Resultset> T postProcess(Supplier<String> sql, Query q, T r, ServerSession s) {
        return r;
    }
}
